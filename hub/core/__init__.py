"""Values, typed events, the error tree, limits and ports; no I/O."""
