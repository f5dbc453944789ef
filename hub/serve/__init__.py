"""Room for the hub as an MCP server; empty until it lands."""
