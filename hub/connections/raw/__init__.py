"""Talks to a server message by message, mending nothing: how ``hub mcp test`` looks at one."""
