"""Tools of servers that others wrote, over the Model Context Protocol."""
