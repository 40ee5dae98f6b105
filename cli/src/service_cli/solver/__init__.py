"""What a Solver does: submit sealed work."""
