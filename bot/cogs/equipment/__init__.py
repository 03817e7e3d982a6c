"""Commands on what agents are equipped with."""
