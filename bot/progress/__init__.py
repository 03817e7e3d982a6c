"""The read model of a running execution, and how its steps are put into words."""
