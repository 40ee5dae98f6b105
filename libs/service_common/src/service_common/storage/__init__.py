"""Object storage for ciphertext: the port (``port``), Google Cloud Storage behind it (``gcs``), its configuration
(``settings``) and the integrity check of what was uploaded (``verify``)."""
