"""A second model's opinion of a trajectory or a lesson."""
