"""Many machines on one local AWS, which are killed and frozen while requests to it break."""
