"""Which package a launch command runs, where the command itself shows it. Pure."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Literal

from msgspec import Struct

from hub.core.servers import ServerSpec

Registry = Literal["npm", "pypi", "docker", "python", ""]

_NPM = re.compile(r"(?P<name>(?:@[^/@\s]+/)?[^@\s/][^@\s]*)(?:@(?P<version>.*))?", re.DOTALL)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*"
    r"(?:(?P<operator>===|==|@|~=|>=|<=|!=|>|<)\s*(?P<version>.*))?",
    re.DOTALL,
)
_EXACT = re.compile(r"v?\d+(?:\.\d+)*(?:[-+.]?[A-Za-z0-9][A-Za-z0-9.+-]*)?")
_EXACT_NPM = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][A-Za-z0-9.+-]+)?")
"""Fewer numbers are a range there."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_NPX_TAKES = frozenset({"-p", "--package", "-c", "--call", "-w", "--workspace", "--registry"})
_NPX_NAMES = frozenset({"-p", "--package"})
_UVX_TAKES = frozenset({
    "--from", "--with", "--with-editable", "-p", "--python", "--index", "--index-url",
    "--extra-index-url", "--directory", "--env-file", "--cache-dir", "--with-requirements",
    "--default-index", "-f", "--find-links", "--refresh-package", "--upgrade-package", "-c",
    "--constraints",
})  # fmt: skip
_PIPX_TAKES = frozenset({"--spec", "--python", "--index-url", "-i", "--pip-args", "--with"})
_DOCKER_FLAGS = frozenset({
    "-i", "-t", "-d", "--rm", "--init", "--privileged", "--read-only", "--interactive", "--tty",
    "--detach", "-P", "--publish-all", "--no-healthcheck", "--oom-kill-disable", "-it", "-ti",
})  # fmt: skip


class Package(Struct, frozen=True):
    """What is installed or fetched to run a server."""

    registry: Registry
    """``npm``, ``pypi``, ``docker``; ``python`` is a module that is installed already."""
    name: str
    version: str = ""
    """As the command writes it; empty when it does not."""
    pinned: bool = False
    """The command names exactly one version."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {"registry": self.registry, "name": self.name, "version": self.version}

    def __str__(self) -> str:
        if self.registry == "python":
            return f"the installed module {self.name}"
        joint = "==" if self.registry == "pypi" and self.pinned else "@"
        return f"{self.registry} {self.name}{joint}{self.version or 'latest'}"


def package_of(spec: ServerSpec) -> Package | None:
    """Return the package of a launch; None where the command does not show one."""
    if spec.transport != "stdio":
        return None
    program, arguments = _unwrapped(spec.command, list(spec.args))
    reader = _READERS.get(program)
    if reader is None and re.fullmatch(r"python[\d.]*", program):
        reader = _module
    return reader(arguments) if reader else None


def version_warning(spec: ServerSpec) -> str:
    """Say that the next start may run another version; empty when it cannot, or nobody knows."""
    package = package_of(spec)
    if package is None or package.pinned or package.registry == "python":
        return ""
    return f"the version is not pinned: {package}"


def _unwrapped(command: str, arguments: list[str]) -> tuple[str, list[str]]:
    """Return program and arguments without ``env`` and ``cmd /c`` in front of them."""
    program = _program(command)
    while program in ("env", "cmd"):
        if program == "cmd" and arguments and arguments[0].lower() == "/c":
            arguments = arguments[1:]
        while program == "env" and arguments and ("=" in arguments[0] or arguments[0][:1] == "-"):
            arguments = arguments[1:]
        if not arguments or arguments[0].startswith("/c"):
            break
        program, arguments = _program(arguments[0]), arguments[1:]
    return program, arguments


def _program(command: str) -> str:
    name = PurePath(command.replace("\\", "/")).name.lower()
    return name.removesuffix(".exe").removesuffix(".cmd")


def _npx(arguments: Sequence[str]) -> Package | None:
    named = next(_values(arguments, _NPX_TAKES, _NPX_NAMES), None)
    found = named or next(_plain(arguments, _NPX_TAKES), None)
    match = _NPM.fullmatch(found) if found else None
    if match is None or found is None or found.startswith((".", "/", "file:")):
        return None
    version = match["version"] or ""
    return Package("npm", match["name"], version, _EXACT_NPM.fullmatch(version) is not None)


def _npm(arguments: Sequence[str]) -> Package | None:
    return _npx(arguments[1:]) if arguments and arguments[0] in ("exec", "x", "dlx") else None


def _uvx(arguments: Sequence[str]) -> Package | None:
    named = next(_values(arguments, _UVX_TAKES, {"--from"}), None)
    return _pypi(named or next(_plain(arguments, _UVX_TAKES), None))


def _uv(arguments: Sequence[str]) -> Package | None:
    if arguments[:2] == ["tool", "run"]:
        return _uvx(arguments[2:])
    if arguments[:1] == ["run"]:
        return _pypi(next(_values(arguments[1:], _UVX_TAKES, {"--with"}), None))
    return None


def _pipx(arguments: Sequence[str]) -> Package | None:
    if arguments[:1] != ["run"]:
        return None
    named = next(_values(arguments[1:], _PIPX_TAKES, {"--spec"}), None)
    return _pypi(named or next(_plain(arguments[1:], _PIPX_TAKES), None))


def _pypi(found: str | None) -> Package | None:
    if not found:
        return None
    if found.startswith(("git+", "http:", "https:")):
        address, _, revision = found.partition("#")[0].rpartition("@")
        whole = address if _COMMIT.fullmatch(revision) else found
        return Package("pypi", whole, revision if whole == address else "", whole == address)
    match = _PYPI.fullmatch(found)
    if match is None or found.startswith((".", "/")):
        return None
    version, operator = match["version"] or "", match["operator"] or ""
    exact = operator in ("==", "===", "@") and _EXACT.fullmatch(version) is not None
    shown = version if exact or operator == "@" else f"{operator}{version}"
    return Package("pypi", match["name"], shown, exact)


def _docker(arguments: Sequence[str]) -> Package | None:
    if arguments[:1] != ["run"]:
        return None
    takes_none = _DOCKER_FLAGS
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option not in takes_none and "=" not in option and rest:
            rest.pop(0)
    if not rest:
        return None
    image, _, fixed = rest[0].partition("@")
    name, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        name, tag = image, ""
    version = f"{tag}@{fixed}".strip("@") if fixed else tag
    return Package("docker", name, version, _DIGEST.fullmatch(fixed) is not None)


def _module(arguments: Sequence[str]) -> Package | None:
    for index, argument in enumerate(arguments[:-1]):
        if argument == "-m":
            return Package("python", arguments[index + 1].partition(".")[0])
        if not argument.startswith("-"):
            break
    return None


def _values(
    arguments: Sequence[str], takes: frozenset[str], names: frozenset[str] | set[str]
) -> Iterator[str]:
    """Yield the values of options, up to the first word that is none."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        option, equals, value = arguments[index].partition("=")
        if not equals and option in takes:
            index += 1
            value = arguments[index] if index < len(arguments) else ""
        if option in names and value:
            yield value
        index += 1


def _plain(arguments: Sequence[str], takes: frozenset[str]) -> Iterator[str]:
    """Yield the words from the first one on that is no option and no value of one."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        if arguments[index] == "--":
            index += 1
            break
        index += 2 if arguments[index] in takes else 1
    yield from arguments[index:]


_READERS = {
    "npx": _npx,
    "bunx": _npx,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _npm,
    "bun": _npm,
    "uvx": _uvx,
    "uv": _uv,
    "pipx": _pipx,
    "docker": _docker,
    "podman": _docker,
}
