"""``service-audit``: a final bounty derived again from the chain, and compared with what the service shows."""
