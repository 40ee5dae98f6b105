"""The entry of the WSGI server: ``service_reviewer.wsgi:application``."""

import os

from service_common import log
from service_common.web.process import freeze_start, prepare_process
from service_common.web.server import serve_probes

from service_reviewer.app import check_rules, make_app
from service_reviewer.config import read_serving_config

prepare_process()
_config = read_serving_config(os.environ)
log.configure("reviewer", _config.log_level)
application = make_app()
serve_probes(host=_config.host, port=_config.port, internal_port=_config.internal_port, checks={"rules": check_rules})
freeze_start()
