"""The shell between a person and a command: arguments, help, events, text, completion."""
