"""What the delivery service does, one module per use case."""
