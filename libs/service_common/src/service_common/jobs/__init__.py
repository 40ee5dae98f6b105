"""Work queues: their names, JSON messages, and the one way to run a worker."""
