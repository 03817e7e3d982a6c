"""The application: its parts are built here, and the Discord client and background tasks run here."""
