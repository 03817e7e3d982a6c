"""Lessons: their states, duplicates and contradictions, and how far a judge is trusted."""
