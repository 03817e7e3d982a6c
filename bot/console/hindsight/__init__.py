"""A task looked at afterwards: as it was at the end of a turn, and beside another one."""
