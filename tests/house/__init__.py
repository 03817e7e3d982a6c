"""The size of the product, and the way of one message through it, in figures."""
