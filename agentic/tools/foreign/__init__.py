"""Tools of MCP servers, as an agent has them."""
