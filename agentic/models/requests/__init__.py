"""What a model is sent: pairs of calls and results, and the bytes kept between turns."""
