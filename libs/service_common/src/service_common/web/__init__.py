"""What the Flask services share: the app factory, authentication at the edge, problems, health, the WSGI server."""
