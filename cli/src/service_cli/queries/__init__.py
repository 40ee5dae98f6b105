"""What is read for people and for acts: of the chain, of the API, and where both are compared."""
