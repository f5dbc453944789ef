"""Where sign-ins are kept."""

import stat
import sys
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hub.connections.locking import file_lock
from hub.connections.tokens import FOLDER, SignIn, TokenStore
from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec

SPEC = ServerSpec("wiki", "http", url="https://wiki.example/mcp")
SIGN_IN = SignIn("access-secret", "refresh-secret", expires_at=5.0, client_secret="client-secret")


class Box:
    """A keyring that keeps what it is given, unless it is locked."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.locked = False

    def put(self, name: str, text: str) -> bool:
        if not self.locked:
            self.kept[name] = text
        return not self.locked

    def get(self, name: str) -> str | None:
        return None if self.locked else self.kept.get(name)

    def drop(self, name: str) -> None:
        self.kept.pop(name, None)


class Broken(Box):
    """No keyring at all."""

    def put(self, name: str, text: str) -> bool:
        return False


def files(state: Path) -> list[Path]:
    return sorted((state / FOLDER).glob("*.json"))


async def test_without_a_keyring_a_sign_in_is_a_private_file(tmp_path: Path) -> None:
    """Nobody else can read it, and it comes back whole."""
    store = TokenStore(tmp_path, vault=Broken())
    assert await store.load(SPEC) is None
    assert await store.save(SPEC, SIGN_IN) == "file"
    assert await store.load(SPEC) == SIGN_IN
    (path,) = files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_keyring_keeps_the_secrets_out_of_files(tmp_path: Path) -> None:
    """The file says only that there is a sign-in."""
    box = Box()
    store = TokenStore(tmp_path, vault=box)
    assert await store.save(SPEC, SIGN_IN) == "keyring"
    assert await store.load(SPEC) == SIGN_IN
    (path,) = files(tmp_path)
    assert "secret" not in path.read_text()
    assert await store.forget(SPEC)
    assert not box.kept
    assert not await store.forget(SPEC)


async def test_a_keyring_that_locks_itself_later_is_told_and_a_new_sign_in_goes_to_a_file(
    tmp_path: Path,
) -> None:
    """What the file says counts, so that no older secret of the keyring comes back."""
    box = Box()
    store = TokenStore(tmp_path, vault=box)
    await store.save(SPEC, SIGN_IN)
    box.locked = True
    with pytest.raises(ConfigError, match="keyring"):
        await store.load(SPEC)
    newer = replace(SIGN_IN, access_token="newer")
    assert await store.save(SPEC, newer) == "file"
    box.locked = False
    assert await store.load(SPEC) == newer


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, url="https://evil.example/mcp"),
        replace(SPEC, name="other"),
        replace(SPEC, url="https://wiki.example/mcp/../evil"),
    ],
)
async def test_a_token_belongs_to_one_name_and_address(tmp_path: Path, other: ServerSpec) -> None:
    """An entry that was changed to lead elsewhere gets nothing."""
    store = TokenStore(tmp_path, vault=Broken())
    await store.save(SPEC, SIGN_IN)
    assert await store.load(other) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"version": 2}', '{"version":1,"kept":"file","sign_in":{"a":1}}']
)
async def test_a_damaged_file_is_told_without_its_text(tmp_path: Path, text: str) -> None:
    """With its place and what to do."""
    store = TokenStore(tmp_path, vault=Broken())
    await store.save(SPEC, SIGN_IN)
    files(tmp_path)[0].write_text(text)
    with pytest.raises(ConfigError, match="hub mcp login") as caught:
        await store.load(SPEC)
    assert str(tmp_path) in caught.value.where


def test_a_sign_in_shows_no_secret() -> None:
    """Not even in a debugger or a traceback."""
    assert "secret" not in repr(SIGN_IN)
    assert "secret" not in f"{SIGN_IN}"


async def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    """Whoever waits for too long is told; it is free again afterwards."""
    path = tmp_path / "lock"
    with anyio.fail_after(5):
        async with file_lock(path, limit=1):
            with pytest.raises(TimeoutError):
                async with file_lock(path, limit=0.05):
                    raise AssertionError("held twice")
        async with file_lock(path, limit=1):
            pass


async def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    """The system lets go of it."""
    path = tmp_path / "lock"
    program = (
        "import anyio, sys\n"
        "from pathlib import Path\n"
        "from hub.connections.locking import file_lock\n"
        "async def main():\n"
        "    async with file_lock(Path(sys.argv[1]), limit=5):\n"
        "        print('held', flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    with anyio.fail_after(20):
        process = await anyio.open_process([sys.executable, "-c", program, str(path)])
        async with process:
            assert process.stdout is not None
            assert (await process.stdout.receive()).startswith(b"held")
            with pytest.raises(TimeoutError):
                async with file_lock(path, limit=0.05):
                    raise AssertionError("held twice")
            process.kill()
        async with file_lock(path, limit=5):
            pass
