"""The stylesheet and the icon, under names that change with their bytes, so that a browser keeps them."""

import hashlib
from importlib.resources import files
from typing import Final

from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from werkzeug.exceptions import NotFound

_FOREVER: Final = "public, max-age=31536000, immutable"
_TYPES: Final = {"css": "text/css; charset=utf-8", "svg": "image/svg+xml"}

routes = Blueprint("assets", __name__)


def _named(name: str) -> tuple[str, bytes]:
    content = files("service_web").joinpath("static", name).read_bytes()
    stem, _, kind = name.partition(".")
    return f"/assets/{stem}-{hashlib.sha256(content).hexdigest()[:12]}.{kind}", content


STYLE_PATH, _STYLE = _named("style.css")
ICON_PATH, _ICON = _named("icon.svg")
_ASSETS: Final = {STYLE_PATH: _STYLE, ICON_PATH: _ICON}


@routes.get("/assets/<name>")
@public
def get_asset(name: str) -> Response:
    """One file."""
    read_query(allowed=frozenset())
    path = f"/assets/{name}"
    if path not in _ASSETS:
        raise NotFound
    return Response(_ASSETS[path], content_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": _FOREVER})


@routes.get("/robots.txt")
@public
def get_robots() -> Response:
    """What search engines may read: everything."""
    read_query(allowed=frozenset())
    return Response("User-agent: *\nAllow: /\n", mimetype="text/plain")
