"""The beacon's rounds under the path that relays have, so that a page reads them as it would read a relay."""

import re
from typing import Final

from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from service_common.web.versions import json_version, render_version
from werkzeug.exceptions import NotFound

from service_web.beacon import BeaconUnavailable, RoundNotOut
from service_web.dependencies import dependencies

_ROUND: Final = re.compile(r"[1-9][0-9]{0,14}")
_FOREVER: Final = "public, max-age=31536000, immutable"
_RETRY_SECONDS: Final = 5

routes = Blueprint("beacon", __name__)


@routes.get("/beacon/<chain_hash>/public/<number>")
@public
def get_round(chain_hash: str, number: str) -> Response:
    """The signature of one round; 425 before it is out."""
    read_query(allowed=frozenset())
    rounds = dependencies().rounds
    if chain_hash != rounds.chain_hash or _ROUND.fullmatch(number) is None:
        raise NotFound
    try:
        found = rounds.round(int(number))
    except RoundNotOut as waiting:
        return _later(425, "This round is not out yet.", waiting.retry_after)
    except BeaconUnavailable:
        return _later(503, "No relay of the beacon answers at the moment.", _RETRY_SECONDS)
    return render_version(json_version({"round": found.round, "signature": found.signature.hex()}, _FOREVER))


def _later(status: int, text: str, seconds: int) -> Response:
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    return Response(f"{text}\n", status, mimetype="text/plain", headers=headers)
