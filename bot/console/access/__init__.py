"""Who opens a page of the console, and what they may see."""
