"""Commands, buttons, menus and forms."""
