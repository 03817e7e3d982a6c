"""Tools that bring in what others wrote: those of MCP servers, and the one that reads skills."""
