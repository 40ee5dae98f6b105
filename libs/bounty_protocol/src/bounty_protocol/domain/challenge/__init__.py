"""The challenge page and the text of strangers: how it is read, committed to and shown."""
