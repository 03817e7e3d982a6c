"""Lessons in Discord: approval, measured effect, import and export."""
