"""The entry of the WSGI server of the pages alone: ``service_api.pages_wsgi:application``."""

import os

from service_common import log
from service_common.db.engine import make_engine
from service_common.web.process import freeze_start, prepare_process
from service_common.web.server import serve_probes

from service_api.app import make_pages_app
from service_api.config import read_config
from service_api.pages.readiness import pages_checks

prepare_process()
_config = read_config(os.environ, pages_alone=True)
log.configure("pages", _config.log_level)
application = make_pages_app(_config)
serve_probes(
    host=_config.web.host,
    port=_config.web.port,
    internal_port=_config.web.internal_port,
    checks=pages_checks(_config, make_engine(_config.database_url, application="pages-health", pool_size=1)),
)
freeze_start()
