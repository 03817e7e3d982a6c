"""`threadwright setup`: asks for what is needed and writes the settings file."""
