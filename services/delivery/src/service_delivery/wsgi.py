"""The entry of the WSGI server: ``service_delivery.wsgi:application``."""

import os

from service_common import log
from service_common.db.engine import make_engine
from service_common.web.process import freeze_start, prepare_process
from service_common.web.server import serve_probes

from service_delivery.app import make_app, readiness_checks
from service_delivery.config import read_config
from service_delivery.memory import keep_memory_private
from service_delivery.sweeping import keep_sweeping

keep_memory_private()
prepare_process()
_config = read_config(os.environ)
log.configure("delivery", _config.log_level)
application = make_app(_config)
keep_sweeping(_config)
serve_probes(
    host=_config.web.host,
    port=_config.web.port,
    internal_port=_config.web.internal_port,
    checks=readiness_checks(_config, make_engine(_config.database_url, application="delivery-health", pool_size=1)),
)
freeze_start()
