"""What is shipped about the bundled servers is what they list.

After a change to their tools: ``python -m pytest tests/catalog --update-golden``.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hub.catalog.cache import SHIPPED, as_document
from hub.connections.opening import BUNDLED
from hub.core.servers import ServerSpec
from tests.conftest import UPDATE_GOLDEN
from tests.connections.pools import open_pool


async def test_the_shipped_listings_are_those_of_the_bundled_servers(tmp_path: Path):
    """Tools, schemas and instructions, for each of them; not the version, which always changes."""
    specs = [ServerSpec(name, "memory", command=name) for name in BUNDLED]
    documents: dict[str, Any] = {}
    async with open_pool(*specs, workspace=tmp_path) as pool:
        for spec in specs:
            documents[spec.name] = {**as_document(await pool.listing(spec.name)), "version": ""}
    text = json.dumps(documents, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get(UPDATE_GOLDEN):
        SHIPPED.write_text(text, encoding="utf-8")
    if SHIPPED.read_text(encoding="utf-8") != text:
        pytest.fail(f"{SHIPPED.name} is stale; run: {__doc__.split('``')[1]}", pytrace=False)
