"""The commands: each parses its arguments and calls what does the work."""
