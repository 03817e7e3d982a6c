"""What an agent can do: the standard tools over the world of a thread."""
