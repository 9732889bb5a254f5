"""A run as a page, and as files for other programs."""
