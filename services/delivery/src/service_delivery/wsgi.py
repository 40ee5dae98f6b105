"""The entry of the WSGI server: ``service_delivery.wsgi:application``."""

import os

from service_common import log
from service_common.web.process import freeze_start, prepare_process

from service_delivery.app import make_app
from service_delivery.config import read_config
from service_delivery.memory import keep_memory_private

keep_memory_private()
prepare_process()
_config = read_config(os.environ)
log.configure("delivery", _config.log_level)
application = make_app(_config)
freeze_start()
