"""The stylesheet, the icon and the scripts, under names that change with their bytes, so that a browser keeps them.

The scripts of the wallet actions are built from `clients/typescript/actions` and are part of this package; their names
have the hash of their bytes already, since they load each other by them.
"""

import hashlib
from importlib.resources import files
from typing import Final

from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from werkzeug.exceptions import NotFound

_FOREVER: Final = "public, max-age=31536000, immutable"
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "js": "text/javascript; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}

routes = Blueprint("assets", __name__)
_STATIC: Final = files(__package__).joinpath("static")


def _named(name: str) -> tuple[str, bytes]:
    content = _STATIC.joinpath(name).read_bytes()
    stem, _, kind = name.partition(".")
    return f"/assets/{stem}-{hashlib.sha256(content).hexdigest()[:12]}.{kind}", content


STYLE_PATH, _STYLE = _named("style.css")
ICON_PATH, _ICON = _named("icon.svg")
_SCRIPTS: Final = {f"/assets/{file.name}": file.read_bytes() for file in _STATIC.joinpath("actions").iterdir()}
CONNECT_PATH: Final = next(path for path in _SCRIPTS if path.startswith("/assets/connect-"))
"""The only script that a page names.

It shows times by the reader's clock, and loads the others when somebody presses its button."""
SEALER_PATH: Final = next(path for path in _SCRIPTS if path.startswith("/assets/sealer-"))
"""Scripts that run in a worker, under a policy of their own."""
_ASSETS: Final = {STYLE_PATH: _STYLE, ICON_PATH: _ICON} | _SCRIPTS


@routes.get("/assets/<name>")
@public
def get_asset(name: str) -> Response:
    """Answer one file."""
    read_query(allowed=frozenset())
    content = _ASSETS.get(f"/assets/{name}")
    if content is None:
        raise NotFound
    return Response(content, content_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": _FOREVER})


@routes.get("/robots.txt")
@public
def get_robots() -> Response:
    """Answer with the robots.txt: search engines may read everything."""
    read_query(allowed=frozenset())
    return Response("User-agent: *\nAllow: /\n", mimetype="text/plain")
