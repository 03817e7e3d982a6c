"""Commands on what agents remember: notes of a thread, facts of a server and of repositories."""
