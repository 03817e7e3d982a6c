"""The bot's side of the console: the process that it starts, what that asks, and what people do on its pages."""
