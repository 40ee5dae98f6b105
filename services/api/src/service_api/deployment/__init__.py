"""What this deployment is, how its index does, and what changes in it."""
