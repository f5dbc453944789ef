"""What starts a server on Windows; elsewhere its arguments stay as they are."""

import pytest

from hub.connections.launching import launch_line
from hub_servers.processes import LaunchError

ENV = {"Path": r"C:\tools;C:\Program Files\nodejs", "PATHEXT": ".EXE;.CMD"}
FILES = {
    r"C:\Program Files\nodejs\npx.cmd",
    r"C:\Program Files\nodejs\node.exe",
    r"C:\my tools\server.exe",
    r"C:\my tools\wrapped.bat",
}


def line(*argv: str, env: dict[str, str] = ENV) -> list[str] | str:
    """What Windows would be given."""
    return launch_line(argv, env, platform="win32", exists=FILES.__contains__)


def test_elsewhere_the_arguments_reach_the_program_as_they_are() -> None:
    """No shell, no quoting, no splitting (H55)."""
    argv = ["npx", "-y", "a server", "%PATH%", "&"]
    assert launch_line(argv, {}, platform="linux") == argv


def test_a_program_is_found_through_the_endings_of_windows() -> None:
    """``npx`` means ``npx.cmd`` in a folder of PATH; case of variables is no matter (H55)."""
    assert line("node", "x.js") == [r"C:\Program Files\nodejs\node.exe", "x.js"]
    assert line("npx", "-y", "server") == r'"C:\Program Files\nodejs\npx.cmd" -y server'
    assert line("npx.cmd", "-y") == r'"C:\Program Files\nodejs\npx.cmd" -y'


def test_a_program_in_a_folder_with_a_space_stays_one_word() -> None:
    """The list is quoted by the system's own rule, never split at spaces (H55)."""
    assert line(r"C:\my tools\server", "a b") == [r"C:\my tools\server.exe", "a b"]
    assert line(r"C:\my tools\wrapped.bat", "a b") == r'"C:\my tools\wrapped.bat" "a b"'


def test_an_unknown_program_is_left_to_the_system() -> None:
    """The system then says that there is no such program (H55)."""
    assert line("nothing", "x") == ["nothing", "x"]


@pytest.mark.parametrize(
    ("argument", "quoted"),
    [
        ("", '""'),
        ("plain", "plain"),
        ("a&b|c", '"a&b|c"'),
        ('say "hi"', '"say ""hi"""'),
        ("%PATH%", '"%%cd:~,%PATH%%cd:~,%"'),
        ("C:\\end here\\", '"C:\\end here\\\\"'),
        ("(x)^y", '"(x)^y"'),
    ],
)
def test_no_argument_of_a_batch_file_leaves_its_quotes(argument: str, quoted: str) -> None:
    """What means something to ``cmd.exe`` stays text (H55)."""
    assert line("npx", argument) == f'"C:\\Program Files\\nodejs\\npx.cmd" {quoted}'


def test_an_argument_that_cannot_be_handed_on_is_refused() -> None:
    """A line break would end the command (H55)."""
    with pytest.raises(LaunchError, match="line break"):
        line("npx", "a\nb")
