"""The same conversation with two Discords, one of them the local guild, and every way in which they differ."""
