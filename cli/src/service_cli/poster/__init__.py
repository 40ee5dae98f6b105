"""The Poster's commands: write a page, publish and fund it, open the winning work."""
