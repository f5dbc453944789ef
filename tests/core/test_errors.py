"""The error tree: drawn as it is, each with a code, and readable."""

import re
from typing import Literal

import pytest

from hub.core import errors
from hub.core.errors import (
    ContextOverflowError,
    HubError,
    ModelError,
    ServerError,
    StoreError,
    UsageError,
)


def tree(root: type[HubError], depth: int = 0) -> list[tuple[int, str]]:
    found = [(depth, root.__name__)]
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            found += tree(below, depth + 1)
    return found


def test_the_tree_is_drawn_as_it_is() -> None:
    """The picture at the top of the module names every error, each under its base."""
    assert errors.__doc__
    drawn = re.findall(r"^([│├└─ ]*)(\w+(?:Error)) ", errors.__doc__, re.MULTILINE)
    assert [(len(lead) // 3, name) for lead, name in drawn] == tree(HubError)


def test_every_error_has_a_code_of_its_own() -> None:
    """Programs tell errors apart by their code, people by their exit code."""
    found = [getattr(errors, name) for _, name in tree(HubError)]
    assert len({error.code for error in found}) == len(found)
    assert all(error.exit_code == 2 for error in found if issubclass(error, UsageError))


def test_an_error_says_what_where_and_what_to_do() -> None:
    """Place, message and remedy make two lines; what is missing leaves no gap."""
    error = UsageError("unknown key 'rol'", where="a.yaml:3 (rol)", remedy="Did you mean 'role'?")
    assert str(error) == "a.yaml:3 (rol): unknown key 'rol'\n  Did you mean 'role'?"
    assert str(StoreError("full")) == "full"


@pytest.mark.parametrize("ran", ["no", "maybe", "yes"])
def test_a_server_error_says_whether_the_call_ran(ran: Literal["no", "maybe", "yes"]) -> None:
    """Whoever catches it knows whether trying again is safe."""
    error = ServerError("gone", server="files", ran=ran)
    assert (error.server, error.ran) == ("files", ran)


def test_an_overflow_is_a_model_error_that_trying_again_does_not_help() -> None:
    """The kind and the exit code are fixed."""
    error = ContextOverflowError("too long", status=400)
    assert isinstance(error, ModelError)
    assert (error.kind, error.status, error.retryable) == ("context_overflow", 400, False)
    assert error.exit_code == 57
