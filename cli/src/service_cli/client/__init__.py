"""What the commands stand on: the chain, the API, signing, sending, the journal. Usable from Python by itself."""
