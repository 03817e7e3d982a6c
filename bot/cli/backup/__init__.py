"""Commands that back up, restore, export and import."""
