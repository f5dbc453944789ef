"""A repository and a state folder beside it."""

import os
from pathlib import Path

import pytest

from hub.worktrees.making import Maker, Wanted
from hub.worktrees.records import Record
from tests.repositories import repository


class Bench:
    """One repository with the means to make work trees of it."""

    def __init__(self, folder: Path) -> None:
        self.top = repository(
            folder / "work",
            a__txt="one\ntwo\nthree\nfour\nfive\n",
            b__txt="b\n",
            __gitignore="*.o\n",
        )
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.maker = Maker(folder / "state", self.environ)
        self.records = self.maker.records
        self._numbers = iter(range(100))

    async def make(self, *files: str, workspace: Path | None = None) -> Record:
        number = next(self._numbers)
        wanted = Wanted(f"j-{number}", f"s-{number}", "lead/w#1", workspace or self.top, files)
        return await self.maker.make(wanted)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return a repository of three files."""
    return Bench(tmp_path)
