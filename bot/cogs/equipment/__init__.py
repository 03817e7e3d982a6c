"""Commands on what people equip an agent with."""
