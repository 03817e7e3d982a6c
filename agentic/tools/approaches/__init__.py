"""Several approaches to one task, tried side by side in copies of the workspace, of which a person takes one."""
