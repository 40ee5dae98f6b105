"""Pages as versions: each is kept for everybody for a moment, unless the API was too busy for its reader."""

from collections.abc import Callable

from flask import Response
from service_common.web.versions import NotForAll, Version, versioned

from service_web.api.client import is_refused


def versioned_page(make: Callable[[], Version]) -> Response:
    """The answer to this request: a page, a feed, a calendar or a drawing."""

    def make_for_all() -> Version:
        version = make()
        if is_refused():
            raise NotForAll(version)
        return version

    return versioned(make_for_all)
