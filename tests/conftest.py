"""What all tests share: one backend, a home of their own, and no way to the outside network."""

import itertools
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fault_battery import FaultBattery

UPDATE_GOLDEN = "HUB_UPDATE_GOLDEN"
"""Set in the environment while golden files are written instead of compared."""

_FOREIGN = ("HUB_", "OPENAI_", "XDG_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_LOOKS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PYTHONWARNDEFAULTENCODING")
_LOCAL_HOSTS = {None, "", "localhost", "0.0.0.0", "::", "::1"}
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files; review the diff"
    )
    parser.addoption(
        "--fault-battery", type=Path, help="write which tests settle which fault to this file"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FaultBattery(config.getoption("--fault-battery")))
    if config.getoption("--update-golden"):
        os.environ[UPDATE_GOLDEN] = "1"
    sys.addaudithook(_stay_inside)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The one event loop on which the SDKs that hub uses are supported."""
    return "asyncio"


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; nothing of the user's own settings, keys and proxies is seen."""
    for name in list(os.environ):
        foreign = name.startswith(_FOREIGN) and name != UPDATE_GOLDEN
        if foreign or name.lower() in _PROXIES or name in _LOOKS:
            monkeypatch.delenv(name)
    folder = _homes / str(next(_numbers))
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("OPENAI_API_KEY", "no-such-key")
    return folder


def _stay_inside(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse, as the network would, every look-up and connection that leaves this machine."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host not in _LOCAL_HOSTS and not str(host).startswith("127."):
        raise ConnectionRefusedError(f"tests stay on this machine; {host!r} is outside of it")
