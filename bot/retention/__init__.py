"""What is deleted, and when: expired logs, and the data of one person."""
