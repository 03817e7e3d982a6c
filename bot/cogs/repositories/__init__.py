"""Commands about repositories, and the accounts of people at their hosts."""
