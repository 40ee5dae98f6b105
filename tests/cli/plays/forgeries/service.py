"""What only the API shows: pages, written Verdicts, sealed bytes, delivered keys, and that it works."""

import json
from typing import Final

from tests.cli.plays.acts import Kind
from tests.cli.plays.facts import Fact
from tests.cli.plays.forgeries.answers import Json
from tests.cli.plays.forgeries.makers import refuses, reply_of, route
from tests.cli.plays.forgeries.subject import BY_API, subject
from tests.cli.plays.world import World
from tests.cli.servers import Request


def other_envelope(world: World, request: Request, answer: Json) -> Json:
    """Another Submission's bytes."""
    works = (*world.bounties.judged_works, *world.bounties.awarded_works)
    requested = request.path.split("/")[-2]
    envelope = world.api.envelopes[next(work.commitment for work in works if work.commitment != requested)]
    place = json.loads(envelope)["ciphertext"]["storage_locator"]
    return answer | {"envelope": envelope.decode(), "download_url": f"{world.api.url}/objects/{place}"}


def other_ciphertext(world: World, _request: Request, answer: Json) -> Json:
    """Of the same length, and of another Submission."""
    place = next(iter(world.api.objects))
    return answer | {"download_url": f"{world.api.url}/objects/{place}"}


# -------------------------------------------------------------------- what can be forged

_ROUTES: Final = ("publish", "upload_url", "prepare", "verdict_write", "wrap", "content", "retrieve", "detail")
SUBJECTS: Final = (
    subject(
        "that the API has it finalized",
        {Kind.USES_API},
        BY_API,
        {
            "never": route("detail", lambda _world, _request, answer: answer | {"finality": "pending"}),
            "unknown": refuses(("detail",), 404, "bounty_not_found"),
        },
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "the page in the API",
        {Kind.SEALS, Kind.JUDGES},
        BY_API,
        {
            "another one": route("detail", lambda _w, _request, answer: answer | {"challenge": "# Another"}),
            "none": route("detail", lambda _w, _request, answer: answer | {"challenge": None}),
        },
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "the written Verdict in the API",
        {Kind.JUDGES},
        BY_API,
        {
            "other text": reply_of(
                "verdict_read", lambda _w, _r, reply: (reply[0], reply[1].replace(b"read", b"lost"), reply[2])
            ),
        },
    ),
    subject(
        "the sealed bytes in the API",
        {Kind.OPENS, Kind.DELIVERS},
        BY_API,
        {
            "another Submission's": route("content", other_envelope),
            "another ciphertext": route("content", other_ciphertext),
            "none": refuses(("content",), 404, "submission_not_found"),
        },
    ),
    subject(
        "the place for sealed bytes",
        {Kind.SEALS},
        BY_API,
        {
            "another": route("upload_url", lambda _w, _r, answer: answer | {"storage_locator": "gs://other/1"}),
            "taken before": reply_of("put", lambda _w, _r, _reply: (412, b"", {})),
        },
    ),
    subject(
        "the prepared transaction",
        {Kind.SEALS},
        BY_API,
        {
            "of another Submission": route(
                "prepare", lambda _w, _r, answer: answer | {"submission_commitment": "0x" + "44" * 32}
            ),
        },
    ),
    subject(
        "the delivered key",
        {Kind.OPENS},
        BY_API,
        {
            "of another Submission": route(
                "retrieve", lambda _w, _r, answer: answer | {"submission_commitment": "0x" + "44" * 32}
            ),
            "none": refuses(("retrieve",), 404, "winning_solution_key_not_found"),
        },
    ),
    subject(
        "that the API does its work",
        {Kind.USES_API},
        BY_API,
        {
            "forbidden": refuses(_ROUTES, 403, "forbidden"),
            "broken": refuses(_ROUTES, 500, "unexpected_error"),
        },
    ),
)
