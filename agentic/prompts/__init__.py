"""The agent's prompts: one constant a file, with its reason at the top (so that the core reads no files)."""
