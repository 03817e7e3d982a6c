"""Messages: rules of posting, limits, mentions, reactions, votes."""
