"""Examples of lessons that would harm and of lessons that would not, and the fit of the screen that compares with them."""
