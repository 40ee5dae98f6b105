"""The entry of the WSGI server: ``service_reviewer.wsgi:application``. Liveness and the rubric; reviews are jobs."""

import os

from bounty_protocol.rubric import current_rubric
from flask import Flask, Response, jsonify
from service_common import log
from service_common.traces.setup import start_traces
from service_common.web.app import create_api
from service_common.web.authentication import public
from service_common.web.process import freeze_start, prepare_process
from service_common.web.slow import end_slow_connections

from service_reviewer.config import read_config


def make_app() -> Flask:
    """The reviewer's small app."""
    app, _ = create_api("service_reviewer", "Bounty Escrow Service: reviewer", [], None)

    @public
    def rubric() -> Response:
        """The rubric this reviewer applies."""
        current = current_rubric()
        return jsonify({"rubric_version": current.version, "rubric_hash": current.hash, "text": current.text})

    app.add_url_rule("/api/readiness-rubric", "rubric", rubric)
    return app


prepare_process()
_config = read_config(os.environ)
log.configure("reviewer", _config.log_level)
start_traces("reviewer", _config.traces)
end_slow_connections(_config.port)
application = make_app()
freeze_start()
