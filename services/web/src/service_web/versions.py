"""Pages as versions: each is kept for everybody for a moment, unless the API was too busy for its reader."""

from collections.abc import Callable

from flask import Response
from service_common.web.versions import NotForAll, Version, versioned

from service_web.api.client import ApiOverloaded, current_reader


def versioned_page(make: Callable[[], Version], *, for_programs: bool = False) -> Response:
    """The answer to this request: a page; or a feed, whose reader is a program that keeps it and
    cannot be told that something is lacking: it comes again later (raises ``ApiOverloaded``). What is lacking for
    everybody it lacks, too: a single bounty keeps no feed away."""

    def make_for_all() -> Version:
        version, asking = make(), current_reader()
        if asking.is_refused:
            if for_programs:
                raise ApiOverloaded(asking.retry_after)
            raise NotForAll(version)
        return version

    return versioned(make_for_all)
