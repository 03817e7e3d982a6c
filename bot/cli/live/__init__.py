"""`threadwright doctor --live`: try Discord, a forge, a sandbox and the models for real, with a person's own tokens."""
