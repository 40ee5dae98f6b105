"""The entry of the WSGI server: ``service_web.wsgi:application``."""

import os

from service_common import log
from service_common.web.process import freeze_start, prepare_process

from service_web.app import make_app
from service_web.config import read_config
from service_web.dependencies import make_dependencies

prepare_process()
_config = read_config(os.environ)
log.configure("web", _config.log_level)
application = make_app(make_dependencies(_config))
freeze_start()
