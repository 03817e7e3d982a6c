"""AWS over the wire: an account on loopback for tests, faults between it and us, and what an emulator has to do for us."""
