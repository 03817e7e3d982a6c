"""People who use the local Discord from code: they write, click and react."""
