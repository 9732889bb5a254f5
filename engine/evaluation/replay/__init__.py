"""Playing a run again, from nothing but its folder: whether everything in it follows from the actions in it."""
