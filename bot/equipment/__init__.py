"""What people equip agents with: roles and rules in Markdown files, for all servers or one place."""
