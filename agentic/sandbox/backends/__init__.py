"""Ways to run a sandbox: Docker, bubblewrap, or the host."""
