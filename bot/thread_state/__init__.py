"""What a thread is, and what people mean there by what they do; pure."""
