"""Object storage for ciphertext: the port, Google Cloud Storage behind it, and the integrity check of uploads."""
