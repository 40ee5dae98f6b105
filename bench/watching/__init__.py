"""Watching the service while it is under load: what it reports, what its processes use, and pictures of both."""
