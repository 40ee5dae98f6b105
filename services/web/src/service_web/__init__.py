"""Pages and feeds of what the api answers.

It never holds a key or a database, nor shows as checked what it has not hashed.
"""
