"""Webhooks: registering addresses that get facts as they happen."""
