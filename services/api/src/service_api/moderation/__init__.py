"""Text of others that this deployment's operator does not show."""
