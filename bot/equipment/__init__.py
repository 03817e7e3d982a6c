"""What people equip an agent with, as files: what is shipped, and their own."""
