"""What is kept in the table, a module a subject."""
