"""Watching the service while it is under load: what it tells, what its processes take, and pictures of both."""
