"""The entry of the WSGI server of the pages alone: ``service_api.pages_wsgi:application``."""

import os

from service_common import log
from service_common.web.process import freeze_start, prepare_process

from service_api.app import make_pages_app
from service_api.config import read_config

prepare_process()
_config = read_config(os.environ, pages_alone=True)
log.configure("pages", _config.log_level)
application = make_pages_app(_config)
freeze_start()
