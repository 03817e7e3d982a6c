"""The page in a browser, and the API it uses."""
