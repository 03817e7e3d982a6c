"""Anthropic's protocol, through its SDK."""
