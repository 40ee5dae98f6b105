"""What the group ``indexer`` measures with: a copy in a process of its own, and proofs over a history made up here."""
