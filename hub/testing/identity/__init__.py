"""An identity provider and an MCP server behind it, in one: real sockets, faults on demand."""
