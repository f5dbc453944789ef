"""YAML of scripts as plain data whose mappings know the lines of their keys."""

from typing import Any

import yaml

from hub.core.errors import ScriptFileError

_MERGE = "tag:yaml.org,2002:merge"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class Lined(dict[Any, Any]):
    """A mapping out of a file."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        """Where it begins, from 1."""
        self.lines: dict[Any, int] = {}
        """Where each of its keys stands."""


def parse_yaml(text: str, path: str) -> Any:
    """Return the data of YAML text; dates stay text, and a key may stand only once.

    Raises:
        ScriptFileError: naming file, line and column of the fault.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        raise ScriptFileError(f"broken YAML: {error.problem}", where=where) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ScriptFileError(f"broken YAML: {error.reason}", where=f"{path}:{line}") from None
    except RecursionError:
        raise ScriptFileError("broken YAML: it is nested too deeply", where=path) from None
    except ValueError as error:
        raise ScriptFileError(f"broken YAML: {error}", where=path) from None


class _Loader(yaml.SafeLoader):
    """A safe loader whose mappings know their lines."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Lined:
    own = {id(key) for key, _ in node.value if key.tag != _MERGE}
    loader.flatten_mapping(node)
    found = Lined(node.start_mark.line + 1)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        try:
            again = key in found and id(key_node) in own
        except TypeError:
            raise _fault("a key must be plain text", key_node) from None
        if again and found.lines[key] > 0:
            raise _fault(f"the key {key!r} stands twice", key_node)
        found[key] = loader.construct_object(value_node, deep=True)
        found.lines[key] = key_node.start_mark.line + 1 if id(key_node) in own else 0
    found.lines = {key: line or found.line for key, line in found.lines.items()}
    return found


def _fault(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
