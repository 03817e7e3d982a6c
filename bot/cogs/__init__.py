"""What people can do in Discord, one feature a file."""
