"""The database file: opening, schema, versions, copies."""
