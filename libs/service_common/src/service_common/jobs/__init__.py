"""Work queues: their names, JSON messages, and the one way to run a worker."""

from service_common import traces  # noqa: F401  # before redis-py, see there
