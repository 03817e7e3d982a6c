"""Pictures of what the logs say, where people would rather look than read.

charts    what a picture shows, from the logs; pure
drawing   has it drawn by a short-lived process, which alone carries the drawing library
draw      that process's program: a chart as JSON in, a PNG out
"""
