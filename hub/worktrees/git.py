"""Runs git so that nothing of a repository, and nothing of the user's settings, runs with it.

No hook, no filter, no merge or diff program, no file watcher, no pager, no password prompt and no
network: of the user's own settings only the few count that say what a file's content is.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import anyio
from msgspec import Struct

from hub.core.errors import UsageError
from hub.core.text import one_line

LIMIT = 120.0
"""Seconds that one command of git may take."""
OLDEST = (2, 38)
"""The first version that merges without a work tree."""
_HANDED_ON = ("PATH", "HOME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "XDG_CONFIG_HOME")
_ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",
    "GIT_AUTHOR_NAME": "hub",
    "GIT_AUTHOR_EMAIL": "hub@localhost",
    "GIT_COMMITTER_NAME": "hub",
    "GIT_COMMITTER_EMAIL": "hub@localhost",
}
_QUIET = (
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_KEPT = r"^(core\.(autocrlf|eol|excludesfile)|safe\.directory)$"
_PROGRAMS = r"^(filter|merge)\..*\.(clean|smudge|process|driver)$"


class GitError(Exception):
    """A command of git did not work; the message says which and what it said."""


class Done(Struct, frozen=True):
    """How a command ended."""

    code: int
    out: bytes
    said: str
    """What it wrote to standard error, on one line."""

    @property
    def line(self) -> str:
        """What it wrote, as one line of text."""
        return os.fsdecode(self.out).rstrip("\n")


class Git(Struct, frozen=True):
    """Git in one place."""

    folder: Path
    """Where the commands run."""
    env: Mapping[str, str]
    config: tuple[str, ...] = _QUIET

    async def run(
        self,
        *arguments: str,
        may: tuple[int, ...] = (),
        index: Path | None = None,
        into: Path | None = None,
        stdin: bytes = b"",
    ) -> Done:
        """Run a command; ``may`` are exit codes beside 0 that are no fault.

        ``index`` takes the place of the work tree's own one; the output goes to the file ``into``,
        which is made with mode 0600.

        Raises:
            GitError: it failed, or took too long.
        """
        settings = [word for pair in self.config for word in ("-c", pair)]
        env = dict(self.env) | ({"GIT_INDEX_FILE": str(index)} if index else {})
        try:
            with anyio.fail_after(LIMIT):
                done = await _ran(["git", *settings, *arguments], self.folder, env, into, stdin)
        except TimeoutError:
            raise GitError(f"git {arguments[0]} took more than {LIMIT:.0f} s") from None
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror or error}") from None
        if done.code and done.code not in may:
            raise GitError(f"git {arguments[0]}: {done.said or f'exit code {done.code}'}")
        return done


async def _ran(
    command: list[str], folder: Path, env: Mapping[str, str], into: Path | None, stdin: bytes
) -> Done:
    # A session of its own keeps a Ctrl-C on our terminal away from it.
    if into is None:
        done = await anyio.run_process(
            command, input=stdin, check=False, cwd=folder, env=env, start_new_session=True
        )
        return Done(done.returncode, done.stdout, one_line(_text(done.stderr), 500))
    with os.fdopen(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        done = await anyio.run_process(
            command, input=stdin, stdout=file, check=False, cwd=folder, env=env,
            start_new_session=True,
        )  # fmt: skip
        os.fsync(file.fileno())
    return Done(done.returncode, b"", one_line(_text(done.stderr), 500))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()


async def open_git(folder: Path, environ: Mapping[str, str]) -> Git:
    """Return git for a folder, with what of the user's settings says what a file's content is.

    Raises:
        UsageError: there is no git, or it is too old.
    """
    given = {name: environ[name] for name in _HANDED_ON if name in environ}
    if shutil.which("git", path=given.get("PATH")) is None:
        raise UsageError("git is not installed", remedy="Install git, or work without isolation.")
    asked = Git(folder, {**given, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}, ())
    try:
        version = (await asked.run("version")).line
        kept = await _settings(asked, _KEPT)
        programs = await _settings(asked, _PROGRAMS)
    except GitError as error:
        raise UsageError(str(error)) from None
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise UsageError(
            f"{version} is too old", remedy=f"Isolation needs git {OLDEST[0]}.{OLDEST[1]} or newer."
        )
    # A merge program that always fails makes a conflict, an empty one would lose a side.
    off = [f"{name}=false" if name.startswith("merge.") else f"{name}=" for name, _ in programs] + [
        f"{name.rpartition('.')[0]}.required=false" for name, _ in programs if "filter." in name
    ]
    return Git(folder, {**given, **_ALONE}, (*_QUIET, *(f"{k}={v}" for k, v in kept), *off))


async def _settings(git: Git, pattern: str) -> list[tuple[str, str]]:
    done = await git.run("config", "--null", "--get-regexp", pattern, may=(1, 128))
    entries = [os.fsdecode(entry) for entry in done.out.split(b"\0") if entry]
    pairs = [entry.partition("\n") for entry in entries]
    return [(name, value if sep else "true") for name, sep, value in pairs]
