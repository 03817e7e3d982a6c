"""`threadwright replay`: a stored log, what was asked of the model, and whether today's rules agree with it."""
