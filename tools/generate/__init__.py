"""Files derived from code and committed: one subject a module, all of them by ``./noxw -s generate``."""
