"""The Solver's commands: submit sealed work."""
