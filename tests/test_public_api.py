"""What hub exports is a promise: the names are pinned, and importing them late costs nothing."""

import importlib
import subprocess
import sys

import pytest

HUB = [
    "EventStream",
    "Hub",
    "HubError",
    "InitInfo",
    "Report",
    "RunOptions",
    "TurnResult",
    "__version__",
    "open_hub",
]
TESTING = [
    "FakeClock",
    "ModelServer",
    "ScriptedAsker",
    "ScriptedElicitor",
    "faulty_command",
    "faulty_http",
    "serve_model",
]


@pytest.mark.parametrize(("module", "names"), [("hub", HUB), ("hub.testing", TESTING)])
def test_the_public_names_are_pinned_and_importable(module, names):
    """A name that comes or goes is a reviewed change of this list."""
    found = importlib.import_module(module)
    assert sorted(found.__all__) == sorted(names)
    for name in names:
        assert getattr(found, name) is not None
    with pytest.raises(AttributeError):
        getattr(found, "no_such_name")  # noqa: B009 - the attribute must be looked up by its name


@pytest.mark.parametrize("module", ["hub", "hub.testing"])
def test_importing_a_public_module_imports_no_heavy_library(module):
    """Whoever imports hub pays for what is used, when it is used."""
    program = (
        f"import sys, {module}; print(sorted({{'mcp', 'openai', 'pydantic'}} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
