"""What it costs on AWS: idle by the template, a task, and sandboxes by how they are run: `python -m deploy.costs`."""
