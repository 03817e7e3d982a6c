"""Signing in to MCP servers: tokens that are found, kept, renewed once, and sent nowhere else."""
