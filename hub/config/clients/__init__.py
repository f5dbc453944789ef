"""The lists of MCP servers that other clients keep, each read as a layer of our settings."""
