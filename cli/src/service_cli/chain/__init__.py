"""The chain as the client sees it, and how one transaction is sent once."""
