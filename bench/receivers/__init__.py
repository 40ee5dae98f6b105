"""Receivers of webhooks by the thousand."""
