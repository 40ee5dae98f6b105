"""Object storage for ciphertext: Google Cloud Storage, and what is kept there and for how long."""
