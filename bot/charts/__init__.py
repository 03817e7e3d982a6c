"""PNG charts, drawn in a child process, which alone loads the drawing library.

data      what a chart shows, from the logs; pure
renderer  the child process and its time-out
draw      the program of that process: a chart as JSON in, a PNG out
"""
