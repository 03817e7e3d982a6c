"""What the local Discord keeps: records, permissions, ids, errors, and its store."""
