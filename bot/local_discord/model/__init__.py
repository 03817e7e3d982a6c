"""The data of the local Discord: records, permissions, ids, errors, and its store."""
