"""The entry of the WSGI server of the pages alone: ``service_api.pages_wsgi:application``."""

import os

from service_common import log
from service_common.db.engine import check_database, make_engine
from service_common.web.process import freeze_start, prepare_process
from service_common.web.server import serve_probes

from service_api.app import make_pages_app
from service_api.config import read_config

prepare_process()
_config = read_config(os.environ, pages_alone=True)
log.configure("pages", _config.log_level)
application = make_pages_app(_config)
_engine, _rpc = make_engine(_config.database_url, application="pages-health", pool_size=1), _config.chain.rpc()
serve_probes(
    host=_config.web.host,
    port=_config.web.port,
    internal_port=_config.web.internal_port,
    checks={
        "database": lambda: check_database(_engine, may_be_standby=_config.pages.may_be_standby),
        "chain": lambda: _config.chain.check(_rpc),
    },
)
freeze_start()
