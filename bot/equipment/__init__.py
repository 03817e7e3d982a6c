"""What people equip agents with in files: roles, rules, skills, watchers; read, kept, approved, and given to tasks."""
