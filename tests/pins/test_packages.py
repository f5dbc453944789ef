"""Which package a command runs, and whether it names one version."""

import pytest

from hub.core.servers import ServerSpec
from hub.pins.packages import package_of, version_warning

DIGEST = "sha256:" + "b" * 64
COMMIT = "a" * 40


def spec(command: str) -> ServerSpec:
    program, *args = command.split()
    return ServerSpec("own", "stdio", command=program, args=tuple(args))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npx -y @scope/server@1.2.3", "npm @scope/server@1.2.3"),
        ("npx -y -p tool@2.0.0 other", "npm tool@2.0.0"),
        ("npx --package=tool@2.0.0 other", "npm tool@2.0.0"),
        ("npm exec -y tool@2.0.0", "npm tool@2.0.0"),
        ("bunx tool@2.0.0-beta.1", "npm tool@2.0.0-beta.1"),
        ("C:\\\\node\\\\npx.cmd tool@2.0.0", "npm tool@2.0.0"),
        ("cmd /c npx -y tool@2.0.0", "npm tool@2.0.0"),
        ("env -i A=1 npx tool@2.0.0", "npm tool@2.0.0"),
        ("uvx mcp-server-git==1.2 --repo .", "pypi mcp-server-git==1.2"),
        ("uvx mcp-server-git@1.2.3", "pypi mcp-server-git==1.2.3"),
        ("uvx --from tools[extra]==1.0 serve", "pypi tools==1.0"),
        ("uvx --python 3.12 tools==1.0", "pypi tools==1.0"),
        ("uv tool run tools==1.0", "pypi tools==1.0"),
        ("pipx run --spec tools==1.0 serve", "pypi tools==1.0"),
        (f"uvx --from git+https://host/x@{COMMIT} serve", f"pypi git+https://host/x=={COMMIT}"),
        (f"docker run -i --rm -e A=1 host:5000/a/b:1@{DIGEST}",
         f"docker host:5000/a/b@1@{DIGEST}"),
    ],
)  # fmt: skip
def test_a_command_that_names_one_version_is_pinned(command: str, words: str) -> None:
    """npm, PyPI and docker, with the options that come before the package."""
    assert str(package_of(spec(command))) == words
    assert version_warning(spec(command)) == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npx -y tool", "npm tool@latest"),
        ("npx tool@latest", "npm tool@latest"),
        ("npx tool@1.2", "npm tool@1.2"),
        ("npx tool@^1.2.3", "npm tool@^1.2.3"),
        ("uvx tool", "pypi tool@latest"),
        ("uvx tool>=1.0", "pypi tool@>=1.0"),
        ("uvx tool==1.*", "pypi tool@==1.*"),
        ("uvx --from git+https://host/x@main serve", "pypi git+https://host/x@main@latest"),
        ("docker run -i mcp/git", "docker mcp/git@latest"),
        ("docker run -v a:b mcp/git:1.2", "docker mcp/git@1.2"),
    ],
)
def test_every_other_command_may_run_another_version_next_time(command: str, words: str) -> None:
    """A tag, a range or nothing at all; the warning says what would be taken."""
    assert version_warning(spec(command)) == f"the version is not pinned: {words}"


@pytest.mark.parametrize("command", ["node server.js", "python x.py", "./serve", "npx ./here"])
def test_a_command_that_shows_no_package_has_none(command: str) -> None:
    """A file of the machine has no version that a command could name."""
    assert package_of(spec(command)) is None
    assert version_warning(spec(command)) == ""


def test_a_module_of_python_is_what_is_installed() -> None:
    """Nothing is fetched, so that there is nothing to warn of."""
    assert str(package_of(spec("python3.11 -m mcp_server_git"))) == (
        "the installed module mcp_server_git"
    )
    assert version_warning(spec("python -m mcp_server_git")) == ""
    assert package_of(ServerSpec("far", "http", url="https://host/mcp")) is None
