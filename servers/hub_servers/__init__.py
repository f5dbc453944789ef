"""Stand-alone MCP servers for files, a shell and notes; they work with any MCP client."""
