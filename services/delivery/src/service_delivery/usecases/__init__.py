"""The delivery service's use cases, one module each."""
