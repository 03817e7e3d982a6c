"""What people equip an agent with in files: read, kept, approved, and given to a task; what is shipped, and their own."""
