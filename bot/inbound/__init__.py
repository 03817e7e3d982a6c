"""From Discord objects to typed events and inbox items."""
