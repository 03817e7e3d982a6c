"""Lessons in the chat: approval, effect, import and export."""
