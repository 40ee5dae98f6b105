"""Acts of the four roles: what each one calls, the event that proves it, and what came of it."""
