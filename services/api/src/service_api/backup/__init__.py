"""Dumps of the database: encrypted, kept, copied to a bucket of their own, and fetched again."""
