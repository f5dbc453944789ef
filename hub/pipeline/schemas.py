"""Says whether a JSON Schema is one."""

from collections.abc import Mapping
from typing import Any


def schema_fault(schema: Mapping[str, Any]) -> str:
    """Return why a schema is no valid one of draft 2020-12, with its place; empty when it is."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        return f"{place or 'top'}: {error.message}"[:300]
    except (RecursionError, TypeError, ValueError, KeyError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""
