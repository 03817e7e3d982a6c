"""What the process tells of itself to those who watch it: traces, metrics, health."""
