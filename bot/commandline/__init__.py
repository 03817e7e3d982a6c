"""What `threadwright` does on a command line, one file a command."""
