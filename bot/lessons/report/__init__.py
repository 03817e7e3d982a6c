"""The page of `threadwright lessons report`: one HTML file that holds all it shows, for a browser or a phone.

Nothing on it runs and nothing on it is fetched.  What a lesson says comes from the world: it is shown, never obeyed.
"""
