"""The standard tools of an agent, which act on its thread's workspace."""
