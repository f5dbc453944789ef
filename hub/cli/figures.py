"""Counts and times in the few characters that a line has for them."""


def short_count(number: int) -> str:
    """Return a count in at most five characters below a billion, such as ``12.3k``."""
    if number < 1000:
        return str(number)
    if number < 999_950:
        return f"{number / 1000:.1f}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def short_time(seconds: float) -> str:
    """Return a duration in at most six characters below a hundred hours, such as ``1m05s``."""
    if seconds < 99.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 step`` or ``2 steps``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
