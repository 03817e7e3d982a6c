"""`threadwright task`: one task from the command line, and the answers to what it asks."""
