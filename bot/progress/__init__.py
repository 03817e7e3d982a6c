"""What a running execution is doing, and how a step is put into words."""
