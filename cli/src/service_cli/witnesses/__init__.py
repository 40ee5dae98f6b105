"""Who vouches for what cannot be taken back: the table of facts and witnesses, and the one place that asks them."""
