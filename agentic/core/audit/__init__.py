"""A whole log looked at after the fact: whether it holds, and how one person's words leave it."""
