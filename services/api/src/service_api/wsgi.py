"""What the WSGI server loads: ``service_api.wsgi:application``."""

import gc
import os
import sys

from service_common import log
from service_common.traces.setup import start_traces
from service_common.web.slow import REQUEST_SECONDS, end_slow_connections

from service_api.app import make_app
from service_api.config import read_config
from service_api.dependencies import make_dependencies
from service_api.graphql.schema import make_schema

# How long a thread that computes keeps the interpreter from one that has only waited for its database: with the usual
# five milliseconds, one that parses a stranger's page makes each of the short steps of all other requests so long.
sys.setswitchinterval(0.0005)
_config = read_config(os.environ)
log.configure("api", _config.log_level)
start_traces("api", _config.traces)
end_slow_connections(_config.web.port, REQUEST_SECONDS + _config.review_wait_seconds)
make_schema()
application = make_app(make_dependencies(_config))
# All that was made so far stays: a full collection that looks through it takes a tenth of a second of everybody's time.
gc.collect()
gc.freeze()
