"""`threadwright replay`: a stored log, its requests to models, and whether today's rules agree with it."""
