"""The public HTTP API: stores bytes, checks shapes, gates reads against indexed Hub state. It never moves money."""
