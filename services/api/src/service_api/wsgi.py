"""The entry of the WSGI server: ``service_api.wsgi:application``."""

import os

from service_common import log
from service_common.web.process import freeze_start, prepare_process
from service_common.web.server import serve_probes

from service_api.app import make_app
from service_api.config import read_config
from service_api.resources import make_resources, readiness_checks
from service_api.subgraph.schema import make_schema

prepare_process()
_config = read_config(os.environ)
log.configure("api", _config.log_level)
make_schema()
application = make_app(make_resources(_config))
serve_probes(
    host=_config.web.host,
    port=_config.web.port,
    internal_port=_config.web.internal_port,
    checks=readiness_checks(make_resources(_config, application="api-health", pool_size=1)),
)
freeze_start()
