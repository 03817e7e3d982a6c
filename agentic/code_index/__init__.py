"""Search over the code of a workspace, by words and by meaning."""
