"""What these pages show, in figures, pictures and words; pure."""
