"""Calibration: from stored labels of executions to the number that people are shown.  Pure, and without numpy."""
