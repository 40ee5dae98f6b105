"""Shared by the Flask services: the app factory, authentication at the edge, problems, health, the WSGI server."""
