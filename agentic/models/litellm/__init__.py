"""Providers that LiteLLM knows, through it."""
