"""The pages of the console: requests and their answers."""
