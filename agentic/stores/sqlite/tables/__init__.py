"""One module of SQL for each subject that is kept."""
