"""Models without a provider: the tour, and scripted ones for tests."""
