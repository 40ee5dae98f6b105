"""The contents of each page, worked out of the answers of the API; templates only lay them out."""
