"""One MCP server is one owner task; the pool that holds them."""
