"""The loop around the core: it records events, carries out effects and drains the inbox."""
