"""Whether lessons help: showings, uplift, promotion, report."""
