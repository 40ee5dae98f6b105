"""``service-audit``: a final bounty derived again from the chain, and what the service says held against it."""
