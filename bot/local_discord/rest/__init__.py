"""The REST API and the files that are served."""
