"""Figures in the documents' sentences are those of the code: each sentence is here with its figures taken from it.

Tables that a session writes are not here: it takes their figures from the code itself.
"""

import json
import re
from pathlib import Path
from typing import Final

import pytest
from bounty_protocol.auth.header import MAX_HEADER_LENGTH
from bounty_protocol.chain.eip3009 import AUTHORIZATION_SECONDS
from bounty_protocol.chain.gas import GWEI, MAX_FEE_WEI, MAX_TIP_WEI, PLAIN_TIP_WEI, USUAL_COST_WEI
from bounty_protocol.crypto import archive
from bounty_protocol.crypto.capsule import MAX_IDENTITY_FILE
from bounty_protocol.domain.envelope import MAX_CAPSULE_BYTES, MAX_ENVELOPE_BYTES
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES, MAX_FRONTMATTER_BYTES, MAX_VALUES
from bounty_protocol.domain.hub_notice import MAX_LIFETIME_SECONDS
from bounty_protocol.domain.money import MAX_GUARDIAN_FEE_BPS, MAX_PROTOCOL_FEE_BPS
from bounty_protocol.domain.roster import MAX_MEMBERS
from bounty_protocol.wire.delivery import MAX_DELIVERY_BYTES
from local_stack.hub import LocalHubTerms
from service_api.config import DEFAULT_REVIEW_QUOTA, DEFAULT_REVIEW_WAIT_SECONDS, ApiBudgets
from service_api.routes.subgraph import QUERY_SECONDS
from service_api.usecases.upload_targets import UPLOAD_LIFETIME_SECONDS
from service_common.budgets import Budget
from service_common.chain import contract_wallets as wallets
from service_common.web import bodies
from service_common.web.callers import READ_SECONDS
from service_indexer.settler import SETTLE_GAS
from service_mcp.http import CALLS_IN_A_MINUTE
from service_reviewer.providers.bounded import CPU_SECONDS

TOP: Final = Path(__file__).resolve().parents[2]
KIB, GIB = 1024, 1024**3
BUDGETS: Final = ApiBudgets()
FEES: Final = LocalHubTerms()
LIMITS: Final = archive.ArchiveLimits()
GAS: Final = {
    name: int(used) for name, used in json.loads((TOP / "contracts/snapshots/hub.gas.json").read_text()).items()
}


COUNTS: Final = {8: "eight"}
SPANS: Final = {10: "10 seconds", 60: "60 seconds", 3_600: "an hour", 86_400: "24 hours"}


def gas(*steps: str) -> str:
    """What the steps were measured to take together, as a person says it: thousands, rounded up."""
    return f"{-(-sum(GAS[f'hub.gas.{step}'] for step in steps) // 1000) * 1000:,}"


def exact(step: str) -> str:
    """What a step was measured to take, to the unit."""
    return f"{GAS[f'hub.gas.{step}']:,}"


def percent(basis_points: int) -> str:
    return f"{basis_points / 100:g} %"


def amounts(*budgets: Budget) -> str:
    return " and ".join(f"{budget.amount:,}" for budget in budgets)


def per(budget: Budget) -> str:
    return SPANS[budget.seconds]


MOST_FEES: Final = (
    f"at most {percent(MAX_PROTOCOL_FEE_BPS)} for the protocol and {percent(MAX_GUARDIAN_FEE_BPS)} for the Guardians"
)
LOCAL_FEES: Final = f"{percent(FEES.protocol_fee_bps)} and {percent(FEES.guardian_fee_bps)}"

SENTENCES: Final[dict[str, list[str]]] = {
    "README.md": [f"{MOST_FEES}, {LOCAL_FEES} in the demo"],
    "docs/faq.md": [
        f"The Hub allows {MOST_FEES}.",
        f"the demo has {LOCAL_FEES}.",
        f"at most {percent(MAX_PROTOCOL_FEE_BPS)} and {percent(MAX_GUARDIAN_FEE_BPS)}, and gas",
        f"about {gas('submit')} units to submit, {gas('claim')} to claim",
        f"A page has at most {MAX_DOCUMENT_BYTES // KIB} KiB, the size of a Submission is at most",
        f"{LIMITS.max_bytes // GIB} GiB, and a roster has 1 to {MAX_MEMBERS} Guardians.",
        f"a quorum of 1 to {MAX_MEMBERS} Guardians",
    ],
    "docs/guides/solver.md": [
        f"About {gas('submit')} gas to record a Submission and {gas('claim')} to claim.",
        f"A Submission holds at most {LIMITS.max_bytes // GIB} GiB in {LIMITS.max_entries:,} files and directories",
    ],
    "docs/guides/guardian.md": [
        f"{gas('second_verdict')} to {gas('verdict_of_a_former_roster')} gas for a Verdict.",
    ],
    "docs/guides/poster.md": [
        f"about {gas('create_with_authorization')} gas to create the bounty",
        f"needs two transactions and {gas('create', 'approve')}) and {gas('refund')} to take a refund.",
        f"limited to {DEFAULT_REVIEW_QUOTA} reviews a day",
    ],
    "docs/sending.md": [
        f"or {PLAIN_TIP_WEI / GWEI:g} gwei where that is more; {MAX_TIP_WEI // GWEI} gwei in all.",
        f"{MAX_FEE_WEI // GWEI} gwei; `SERVICE_MAX_GAS_PRICE_GWEI`",
        f"{USUAL_COST_WEI / 10**18:g} ether. More takes a `yes` at a terminal",
        f"It is good for {SPANS[AUTHORIZATION_SECONDS]} from",
    ],
    "docs/client.md": [f"at most {MAX_LIFETIME_SECONDS // 86_400} days, beside the others"],
    "docs/challenge-page.md": [
        f"at most {MAX_DOCUMENT_BYTES // KIB} KiB, of which the frontmatter takes",
        f"the frontmatter takes at most {MAX_FRONTMATTER_BYTES // KIB} KiB and {MAX_VALUES:,} names and values",
    ],
    "docs/publishing.md": [
        f"at most {MAX_DOCUMENT_BYTES // KIB} KiB, {amounts(BUDGETS.page_checks)} pages of a network address",
        f"pages of a network address in {per(BUDGETS.page_checks)}.",
        f"the request waits for it for {DEFAULT_REVIEW_WAIT_SECONDS} seconds at most",
        f"quota is {DEFAULT_REVIEW_QUOTA} reviews for a Poster in any 24 hours",
        f"`SERVICE_REVIEW_QUOTA` ({DEFAULT_REVIEW_QUOTA})",
        f"`SERVICE_REVIEW_WAIT_SECONDS` ({DEFAULT_REVIEW_WAIT_SECONDS})",
        f"in a process of their own with {CPU_SECONDS} seconds of processor time",
    ],
    "docs/interface.md": [
        f"JSON bodies are at most {MAX_ENVELOPE_BYTES // KIB} KiB, delivery bodies {MAX_DELIVERY_BYTES // KIB} KiB,",
        f"challenge pages and Verdicts {MAX_DOCUMENT_BYTES // KIB} KiB.",
        f"at most {LIMITS.max_bytes // GIB} GiB, and lives {UPLOAD_LIFETIME_SECONDS // 60} minutes",
        f"{DEFAULT_REVIEW_QUOTA} reviews for a Poster in 24 hours",
        f"A public read that takes longer than {READ_SECONDS * 1000:g} ms of a processor counts as one for each",
        f"a query for each {QUERY_SECONDS * 1000:g} ms.",
        f"at most {bodies.MAX_OPEN_OF_ONE} bodies of {bodies.MAX_OPEN_BYTES_OF_ONE // KIB**2} MiB together",
    ],
    "docs/authentication.md": [
        f"at most {MAX_HEADER_LENGTH // KIB} KiB",
        f"{wallets.ACCOUNT_GAS:,} gas for the account, {wallets.FACTORY_GAS:,} for the factory",
        f"{wallets.CALL_SECONDS:g} seconds, {wallets.MAX_AT_A_TIME} calls at a time",
        f"calls at a time and {wallets.MAX_PER_SECOND} a second for each process.",
        f"Of these, {wallets.MAX_AT_A_TIME - wallets.STRANGERS_AT_A_TIME} at a time and",
        f"{wallets.MAX_PER_SECOND - wallets.STRANGERS_PER_SECOND} a second are kept",
        f"get {wallets.OF_ACCOUNT.amount} checks in a minute",
        f"by at most {MAX_LIFETIME_SECONDS // 86_400} days",
    ],
    "docs/deploying.md": [
        f"{exact('lifecycle')} gas, paid by those who act: the Poster {exact('create_with_authorization')} to create,",
        f"a Solver {exact('submit')} for each Submission, a Guardian about {exact('verdict')} for each Verdict",
        f"{exact('settle')} gas for each bounty that nobody settled",
        f"A roster has 1 to {MAX_MEMBERS} members",
    ],
    "docs/scale.md": [
        f"| one bounty on chain | {exact('lifecycle')} gas |",
        f"would carry {GAS['hub.gas.lifecycle'] * 100_000 / 86_400 / 10**6:.1f} million gas a second",
    ],
    "docs/indexer.md": [
        f"at most {MAX_FEE_WEI // GWEI} gwei for at most {SETTLE_GAS:,} gas; the tip is",
        f"the median of the last 20 blocks, and {MAX_TIP_WEI // GWEI} gwei at most, a quarter of that at first.",
    ],
    "docs/operations.md": [
        f"Each network has {CALLS_IN_A_MINUTE} calls a minute, then 429.",
    ],
    "docs/formats.md": [
        f"with line feeds only, at most {MAX_DOCUMENT_BYTES // KIB} KiB",
        f"YAML of at most {MAX_FRONTMATTER_BYTES // KIB} KiB",
        f"One canonical JSON object of at most {MAX_ENVELOPE_BYTES // KIB} KiB",
        f"at most {MAX_CAPSULE_BYTES // KIB} KiB decoded",
        f"above {archive.MAX_NAME_BYTES} bytes, paths above",
        f"paths above {archive.MAX_PATH_BYTES:,} bytes or {archive.MAX_DEPTH} parts",
        f"more than {LIMITS.max_entries:,} entries, {LIMITS.max_headers:,} headers or the client's size limit",
        f"the client's size limit ({LIMITS.max_bytes // GIB} GiB unless",
        f"{MAX_IDENTITY_FILE:,} bytes in all",
    ],
}
"""What each document says, with line ends as spaces."""


@pytest.mark.parametrize("document", SENTENCES)
def test_sentences__with_figures__are_what_the_code_does(document: str) -> None:
    text = re.sub(r"\s+", " ", (TOP / document).read_text(encoding="utf-8"))
    assert [sentence for sentence in SENTENCES[document] if sentence not in text] == []
