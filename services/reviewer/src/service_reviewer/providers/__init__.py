"""Who judges a page: one port, an adapter per provider."""
