"""The agent's prompts: one file each, as a constant with its reason at the top (so that the core reads no files)."""
