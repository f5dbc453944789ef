"""Which models an endpoint has: the cheapest question that needs a working address and key."""

from collections.abc import Sequence
from typing import Any, cast

import httpx2
import openai

from hub.core.modelspec import ModelSpec
from hub.models.chat.check import check
from hub.models.chat.fault import Place, of_status
from hub.models.chat.model import client_for, unreached

_NO_LIST = frozenset({404, 405, 501})


async def list_models(spec: ModelSpec) -> Sequence[str] | None:
    """Ask an endpoint for the names of its models; None when it answers but keeps no list.

    Raises:
        ModelError: it cannot be reached, or refuses the key.
    """
    place = Place(spec)
    check(place)
    client = client_for(spec)
    try:
        response = await client.get("/models", cast_to=cast("Any", httpx2.Response))
    except openai.APIStatusError as error:
        if error.status_code in _NO_LIST:
            return None
        failed = of_status(place, error.status_code, error.response.headers, error.body)
        raise failed.error from None
    except openai.APIConnectionError as error:
        raise unreached(place, error.__cause__ or error).error from None
    finally:
        await client.close()
    return _names(response)


def _names(response: Any) -> Sequence[str] | None:
    try:
        entries = response.json()["data"]
        return [str(entry["id"]) for entry in entries]
    except (ValueError, LookupError, TypeError):
        return None
