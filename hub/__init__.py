"""Run teams of role-based agents over approved MCP servers."""
