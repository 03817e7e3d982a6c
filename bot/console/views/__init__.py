"""What the pages of the console show, made of a log; pure."""
