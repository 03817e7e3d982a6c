"""Commands on what people equip an agent with, for whoever runs the bot."""
