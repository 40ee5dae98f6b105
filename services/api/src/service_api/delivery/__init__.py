"""The delivery service, to which its routes are forwarded."""
