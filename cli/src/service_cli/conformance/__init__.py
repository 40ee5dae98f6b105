"""Whether a deployment's API is the one that is specified, seen from outside."""
