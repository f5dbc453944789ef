"""Names for sessions and jobs: sortable by time, short enough to type."""

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str, *, now: float | None = None) -> str:
    """Return a new name such as ``s-01k3v9x2q7f3kq2m``.

    It is made of milliseconds since 1970 and 35 random bits, both in Crockford's base 32, so that
    names sort by time and hold no letters that are easily misread.
    """
    stamp = int((time.time() if now is None else now) * 1000)
    return f"{prefix}-{_base32(stamp, 9)}{_base32(secrets.randbits(35), 7)}"


def _base32(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, rest = divmod(number, 32)
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))
