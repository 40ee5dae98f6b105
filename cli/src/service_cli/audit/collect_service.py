"""Collecting what the service says of a bounty: the public detail, written Verdicts, and envelopes with a key.

Promises: nothing is judged here, and nothing the service does or fails to do ends an audit: what is missing is missing
with its reason. Only the envelopes need a signature; without a key none is made.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from service_common.types import Bytes32

from service_cli.audit.evidence import ServiceEvidence
from service_cli.audit.story import Story
from service_cli.client.api import ApiClient
from service_cli.client.signer import LocalSigner
from service_cli.outcome import Failed, Refused
from service_cli.output import say

RECORD_SECONDS: Final = 30.0
"""How long a record that only waits for the index is waited for."""
MOST_ENVELOPES: Final = 200
MOST_VERDICTS: Final = 200
_POLL_SECONDS: Final = 1.0
_PASSING: Final = {"not_finalized", "index_behind"}


def collect_service(api: ApiClient, story: Story, signer: LocalSigner | None) -> ServiceEvidence:
    """Everything the service can be asked about this bounty."""
    evidence = ServiceEvidence()
    answers = True

    def fetch(name: str, get: Callable[[], bytes]) -> bytes | None:
        """One answer; once the API has failed, the rest is not asked for."""
        nonlocal answers
        if not answers:
            evidence.missing[name] = "the API does not answer"
            return None
        try:
            return get()
        except Failed as failed:
            answers = False
            evidence.missing[name] = failed.message
        except Refused as refused:
            evidence.missing[name] = f"the API says {refused.code}: {refused.message}"
        return None

    evidence.detail = fetch("detail", lambda: _detail(api, story))
    for commitment in wanted_verdicts(story):
        if (found := fetch(commitment, partial(_verdict, api, commitment))) is not None:
            evidence.verdicts[commitment] = found
    for commitment in wanted_envelopes(story):
        if signer is None:
            evidence.missing[commitment] = "reading it takes the Poster's or a Guardian's key (--sign-as)"
        elif (found := fetch(commitment, partial(_envelope, api, story, signer, commitment))) is not None:
            evidence.envelopes[commitment] = found
    return evidence


def wanted_verdicts(story: Story) -> list[Bytes32]:
    """The Verdicts that counted, then the newest of those replaced, as many as are looked at."""
    counted = [each.event.report_commitment for each in story.latest_verdicts().values()]
    replaced = [each.event.report_commitment for each in reversed(story.verdicts)]
    return list(dict.fromkeys([*counted, *replaced]))[:MOST_VERDICTS]


def wanted_envelopes(story: Story) -> list[Bytes32]:
    """The winner's first, then the other active Submissions', as many as are looked at."""
    winner = story.finalized.event.submission_commitment
    active = [each.event.submission_commitment for each in story.active_submissions()]
    ordered = dict.fromkeys(sorted(active, key=lambda commitment: commitment != winner))
    return list(ordered)[:MOST_ENVELOPES]


def _detail(api: ApiClient, story: Story) -> bytes:
    """The public detail, waited for while the index only catches up with the end."""
    ends, told = time.monotonic() + RECORD_SECONDS, False
    while True:
        body = api.get(f"/api/bounties/{story.chain.bounty_id}").body
        if not _passing(body) or time.monotonic() > ends:
            return body
        if not told:
            say("waiting until the service can derive the record")
            told = True
        time.sleep(_POLL_SECONDS)


def _passing(body: bytes) -> bool:
    try:
        detail = json.loads(body)
        error = detail.get("verification_record_error")
        return isinstance(error, dict) and error.get("code") in _PASSING
    except (ValueError, RecursionError, AttributeError):
        return False


def _verdict(api: ApiClient, commitment: Bytes32) -> bytes:
    return api.get(f"/api/written-verdicts/{commitment}").body


def _envelope(api: ApiClient, story: Story, signer: LocalSigner, commitment: Bytes32) -> bytes:
    bounty_id = story.chain.bounty_id
    path = f"/api/bounties/{bounty_id}/submissions/{commitment}/content"
    answer = api.signed(signer, "GET", path, words=f"read Submission {commitment} of bounty {bounty_id}").json()
    envelope = answer.get("envelope")
    return envelope.encode() if isinstance(envelope, str) else b""
