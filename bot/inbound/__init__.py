"""From a Discord object to a typed event and an item of the inbox; nothing else happens here."""
