"""What each page shows, worked out of the answers of the API; templates only lay it out."""
