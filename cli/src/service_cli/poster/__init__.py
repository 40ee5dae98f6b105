"""What a Poster does: write a page, publish and fund it, open the winning work."""
