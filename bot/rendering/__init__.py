"""Text and components within the limits of Discord."""
