"""What a model sends: text, tool calls, token counts, time-outs."""
