"""The life of one bounty by its plan: what each of its people does, by the way in that is theirs."""

import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import urllib3
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, render_verdict
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, parse_address
from demo.examples import artifact, challenge_page, same_files
from service_cli import Refused

from tests.sealing import seal_for
from tools.market.drawn import BountyPlan, GuardianPlan, GuardianTemper, PosterTemper, SolverPlan, SolverTemper
from tools.market.people import Actor, NotMined, Town, Way

NOTE: Final = f"Canary {secrets.token_hex(12)} of unpublished work."
"""In the text of sealed work: nothing that the service keeps or answers may have it."""
_ENDINGS: Final[dict[tuple[SettlementReason | None, Outcome | None], str]] = {
    (SettlementReason.JUDGED, Outcome.AWARDED): "awarded",
    (SettlementReason.JUDGED, Outcome.NO_VALID_SUBMISSION): "judged-nothing-valid",
    (SettlementReason.NO_SUBMISSIONS, Outcome.NO_VALID_SUBMISSION): "empty",
    (SettlementReason.GUARDIANS_SILENT, Outcome.NO_VALID_SUBMISSION): "guardians-silent",
    (SettlementReason.QUORUM_NOT_REACHED, Outcome.NO_VALID_SUBMISSION): "no-quorum",
}
"""By reason and outcome."""
_PRETENDING: Final = frozenset({SolverTemper.HOLLOW, SolverTemper.COPYING, SolverTemper.LATE})
"""Those who record what no client would: it is no work of their own, or its time is over."""
TOO_LATE_SECONDS: Final = 10
"""For how long a Solver who is late tries to be recorded."""
LATE_SECONDS: Final = 120
"""How long after its judging deadline a bounty is waited for; what ends later is found by the end of the run."""
DELIVERY_ATTEMPTS: Final = 8
ATTEMPTS: Final = 4
"""How often a Poster writes a page again because its deadline came before its money."""


class Unanswered(Exception):
    """The API refused a raw request."""


@dataclass
class RecordedWork:
    """What a Solver recorded, and the directory that was sealed where there is one."""

    actor: Actor
    commitment: str
    directory: Path | None


def at_once(*acts: Callable[[], None]) -> None:
    """Everybody's part at the same time, each in a thread of its own; the first error is raised when all have ended."""
    if acts:
        with ThreadPoolExecutor(len(acts)) as pool:
            for done in [pool.submit(act) for act in acts]:
                done.result()


@dataclass
class BountyLife:
    """One bounty from its page to its last payment."""

    town: Town
    plan: BountyPlan
    works: dict[str, RecordedWork] = field(default_factory=dict)
    number: int = 0
    """The bounty's number on the chain, once it is final there."""

    def run(self) -> None:
        """Everything, from the moment of the plan on. What goes wrong for good is in the log."""
        self.town.pause(self.plan.starts - self.town.log.seconds())
        if not self._fund():
            return
        view = self._view()
        hasty = [each for each in self.plan.guardians if each.temper == GuardianTemper.MALICIOUS]
        at_once(
            *(partial(self._submit, solver) for solver in self.plan.solvers),
            *(partial(self._judge_badly, guardian) for guardian in hasty),
        )
        self.town.wait_for(view.reveal_at)
        at_once(
            *(partial(self._judge, guardian, view.reveal_at, view.judging_deadline) for guardian in self.plan.guardians)
        )
        # What no quorum decides is settled by the service.
        ended = self.town.until_final(
            "end",
            lambda: None,
            lambda: self._view().outcome is not None,
            view.judging_deadline + LATE_SECONDS,
            bounty=self.number,
        )
        if ended:
            view = self._view()
            self.town.log.write("bounty", _ENDINGS[view.reason, view.outcome], bounty=self.number)
            self._pay()
            self._deliver()

    # --- the Poster

    def _fund(self) -> bool:
        plan, town = self.plan, self.town
        poster = town.actors[plan.poster]
        way = Way.RAW if plan.temper == PosterTemper.UNPUBLISHED else poster.way
        for attempt in range(ATTEMPTS):
            deadline = town.now() + plan.submission_seconds
            folder = poster.home / f"page-{plan.number}-{attempt}"
            page = challenge_page(
                folder,
                submission_deadline=deadline,
                judging_window_seconds=plan.judging_seconds,
                title=f"Bounty {plan.number} of the market, page {attempt + 1}",
            )
            text = page.read_text().replace("escrow_amount: 25000000", f"escrow_amount: {plan.escrow}")
            page.write_text(text)
            body = text.encode()
            commitment = bytes.fromhex(spec_commitment(body)[2:])

            def fund(page: Path = page, body: bytes = body, deadline: int = deadline) -> None:
                if plan.temper == PosterTemper.UNPUBLISHED:
                    self._create(poster, self._terms(body, deadline))
                else:
                    self._publish_and_fund(poster, page, body)

            def funded(commitment: bytes = commitment) -> bool:
                self.number = town.created(commitment, poster.address) or 0
                return bool(self.number)

            named = {"bounty": plan.number, "by": poster.name, "way": way, "temper": plan.temper}
            if town.until_final("fund", fund, funded, deadline - 3, **named):
                town.log.write("bounty", "funded", plan=plan.number, bounty=self.number)
                town.funded.append(self.number)
                return True
        town.log.write("bounty", "given-up", plan=plan.number)
        return False

    def _publish_and_fund(self, poster: Actor, page: Path, body: bytes) -> None:
        if poster.way == Way.LIBRARY:
            poster.client.fund(body, again=True)
        elif poster.way == Way.COMMAND and poster.person is not None:
            poster.person.run("poster:publish-fund", "--again", str(page))
        else:
            self._create(poster, self._published(poster, body))

    def _terms(self, body: bytes, deadline: int) -> tuple[object, ...]:
        plan, roster = self.plan, self.town.ask("getRoster", self.town.ask("currentRosterVersion"))[0]
        page, most = bytes.fromhex(spec_commitment(body)[2:]), plan.escrow
        return (page, roster, most, deadline, plan.judging_seconds, most, most, secrets.token_bytes(32))

    def _published(self, poster: Actor, body: bytes) -> tuple[object, ...]:
        path = f"/api/bounty-challenge-specs/prepare-publication?poster_address={poster.address}"
        answer = self._asked("POST", path, body, poster, "text/markdown")
        (terms,) = answer["create_bounty"]["args"]
        return tuple(bytes.fromhex(each[2:]) if each.startswith("0x") else int(each) for each in terms)

    def _create(self, poster: Actor, terms: tuple[object, ...]) -> None:
        stack = self.town.stack
        self.town.transact(poster, stack.hub.token, "approve", stack.hub.hub.address, terms[2])
        self.town.transact(poster, stack.hub.hub, "createBounty", terms)

    # --- Solvers

    def _submit(self, plan: SolverPlan) -> None:
        town, actor = self.town, self.town.actors[plan.name]
        deadline = self._view().submission_deadline
        late = plan.temper == SolverTemper.LATE
        moment = deadline - self.plan.submission_seconds * (1 - plan.at)
        town.wait_for(deadline if late else min(moment, deadline - 8))
        way = Way.RAW if plan.temper in _PRETENDING else actor.way
        times = 2 if plan.temper == SolverTemper.REPLACING else 1
        for again in range(times):
            made: list[RecordedWork] = []

            def submit(again: int = again, made: list[RecordedWork] = made) -> None:
                made.append(self._record(actor, way, plan.temper, again))

            def recorded(made: list[RecordedWork] = made) -> bool:
                return bool(made) and self._recorded(actor) == made[-1].commitment

            named = {"bounty": self.number, "by": actor.name, "way": way, "temper": plan.temper}
            if town.until_final("submit", submit, recorded, deadline + (TOO_LATE_SECONDS if late else 0), **named):
                self.works[actor.name] = made[-1]  # also late work: a reorg puts earlier times in later blocks' place

    def _record(self, actor: Actor, way: Way, temper: SolverTemper, again: int) -> RecordedWork:
        if temper in _PRETENDING:
            others = [work.commitment for work in self.works.values()]
            copied = bool(others) and temper == SolverTemper.COPYING
            commitment = bytes.fromhex(others[0][2:]) if copied else secrets.token_bytes(32)
            return self._record_raw(actor, commitment, None)
        below = actor.home / f"work-{self.number}-{again}"
        directory = below / "artifact" if (below / "artifact").exists() else artifact(below, note=f"{NOTE} {again}")
        unseen = self.plan.temper == PosterTemper.UNPUBLISHED
        if way == Way.LIBRARY:
            done = actor.client.submit(
                BountyId(self.number), directory, replace=again > 0, accept_term_differences=unseen
            )
            return RecordedWork(actor, str(done.submission_commitment), directory)
        if way == Way.COMMAND and actor.person is not None:
            replaces = [*(["--replace"] if again else []), *(["--accept-term-differences"] if unseen else [])]
            ran = actor.person.run("solver:submit", *replaces, str(self.number), str(directory))
            return RecordedWork(actor, ran.event("submit.submission_recorded").text("submission_commitment"), directory)
        return self._seal_and_record(actor, directory, below / f"sealed-{secrets.token_hex(4)}.age")

    def _seal_and_record(self, actor: Actor, directory: Path, file: Path) -> RecordedWork:
        """As a program would that has the formats alone: sealed, uploaded, prepared, sent."""
        stack = self.town.stack
        names = ChainId(stack.anvil.chain_id), Address(stack.hub.hub.address), BountyId(self.number)
        binding = Binding(*names, parse_address(actor.address))
        detail = self._asked("GET", f"/api/bounties/{self.number}", b"", None)
        sealed, envelope = seal_for(binding, detail, directory, file, stack.beacon.chain.info)
        path = f"/api/bounties/{self.number}/submissions/{actor.address}"
        wanted = {"ciphertext_sha256": sealed.sha256, "ciphertext_byte_length": sealed.byte_length}
        target = self._asked("POST", f"{path}/artifact-upload-url", json.dumps(wanted).encode(), actor)
        put = urllib3.request(
            target["upload_method"], target["upload_url"], body=file.read_bytes(), headers=target["upload_headers"],
            retries=False, timeout=20.0,
        )  # fmt: skip
        if put.status != 200:
            raise Unanswered(f"the upload: {put.status}")
        prepared = self._asked("POST", f"{path}/prepare", envelope.canonical_bytes(), actor)
        commitment = str(prepared["submission_commitment"])
        if commitment != envelope.commitment():
            self.town.log.differs("prepare answered another commitment", bounty=self.number)
        return self._record_raw(actor, bytes.fromhex(commitment[2:]), directory)

    def _record_raw(self, actor: Actor, commitment: bytes, directory: Path | None) -> RecordedWork:
        roster = bytes.fromhex(self._view().guardian_roster_hash[2:])
        self.town.transact(actor, self.town.hub, "submit", self.number, commitment, roster)
        return RecordedWork(actor, "0x" + commitment.hex(), directory)

    def _recorded(self, actor: Actor) -> str:
        return f"0x{self.town.ask('getSubmission', self.number, actor.address).hex()}"

    # --- Guardians

    def _judge(self, plan: GuardianPlan, begin: int, end: int) -> None:
        if plan.temper == GuardianTemper.SILENT or not self._view().has_submissions:
            return
        town, actor = self.town, self.town.actors[plan.name]
        town.wait_for(min(begin + (end - begin) * plan.at, end - 4))
        rejecting = plan.temper == GuardianTemper.CONTRARY
        turns = [False, True] if plan.temper == GuardianTemper.WAVERING else [not rejecting]
        for awarding in turns:
            work = self._best(plan) if awarding else None
            judge = partial(self._record_verdict, actor, work, again=len(turns) > 1 and awarding)
            named = {"bounty": self.number, "by": actor.name, "way": actor.way, "temper": plan.temper}

            def holds(work: RecordedWork | None = work) -> bool:
                return self._view().outcome is not None or self._verdict_is(actor, work)

            town.until_final("judge", judge, holds, end, awards=work is not None, **named)

    def _best(self, plan: GuardianPlan) -> RecordedWork | None:
        """Return the first work that there is; a malicious Guardian takes what has none."""
        real = [work for work in self.works.values() if work.directory is not None]
        hollow = [work for work in self.works.values() if work.directory is None]
        found = [*hollow, *real] if plan.temper == GuardianTemper.MALICIOUS else real
        return found[0] if found else None

    def _record_verdict(self, actor: Actor, work: RecordedWork | None, *, again: bool) -> None:
        reasons = f"Judged by {actor.name} of bounty {self.number}: {'it holds' if work else 'nothing holds'}.\n"
        if actor.way == Way.LIBRARY:
            pair = (parse_address(work.actor.address), Bytes32(work.commitment)) if work else None
            if work is not None and work.directory is not None and not again:
                opened = actor.home / f"opened-{self.number}-{secrets.token_hex(3)}"
                try:
                    actor.client.open_submissions(BountyId(self.number), opened)
                except Refused as refused:
                    if refused.code != "submissions_not_opened":  # others' work that there never was
                        raise
            actor.client.record_verdict(BountyId(self.number), reasons, pair, replace=again, unopened=True)
        elif actor.way == Way.COMMAND and actor.person is not None:
            body = actor.home / f"verdict-{self.number}.md"
            body.write_text(reasons)
            kind = ["awarded", work.actor.address, work.commitment] if work else ["no_valid_submission"]
            replaces = ["--replace"] if again else []
            actor.person.run("guardian:verdict", str(self.number), *kind, str(body), "--unopened", *replaces)
        else:
            self._judge_by_hand(actor, work, reasons)

    def _judge_by_hand(self, actor: Actor, work: RecordedWork | None, reasons: str) -> None:
        stack = self.town.stack
        document = render_verdict(
            WrittenVerdict(
                VerdictKind.AWARDED if work else VerdictKind.NO_VALID_SUBMISSION,
                ChainId(stack.anvil.chain_id),
                Address(stack.hub.hub.address),
                BountyId(self.number),
                parse_address(actor.address),
                parse_address(work.actor.address) if work else None,
                Bytes32(work.commitment) if work else None,
                reasons,
            )
        )
        report = report_commitment(document)
        self._asked("POST", f"/api/written-verdicts/{report}", document, actor, "text/markdown")
        named = self._named(work)
        self.town.transact(actor, self.town.hub, "recordVerdict", self.number, *named, bytes.fromhex(report[2:]))

    def _judge_badly(self, plan: GuardianPlan) -> None:
        """Before its time, and of work that nobody recorded: the Hub has to refuse both."""
        actor, hub = self.town.actors[plan.name], self.town.hub
        if actor.way != Way.RAW:
            return
        stranger = self.town.actors["stranger-1"].address
        for named in ((2, "0x" + "0" * 40, bytes(32)), (1, stranger, secrets.token_bytes(32))):
            if self.town.now() >= self._view().reveal_at - 2:
                return
            try:
                self.town.transact(actor, hub, "recordVerdict", self.number, *named, secrets.token_bytes(32))
            except NotMined as refused:
                self.town.log.write("hostile", "refused", act="judge early", why=str(refused))
            else:
                self.town.log.differs("a Verdict before its time was recorded", bounty=self.number)

    def _verdict_is(self, actor: Actor, work: RecordedWork | None) -> bool:
        found = self.town.ask("getVerdict", self.number, actor.address)
        kind, solver, commitment = self._named(work)
        return tuple(found[:3]) == (kind, solver, commitment)

    def _named(self, work: RecordedWork | None) -> tuple[int, str, bytes]:
        return (1, work.actor.address, bytes.fromhex(work.commitment[2:])) if work else (2, "0x" + "0" * 40, bytes(32))

    # --- the end

    def _pay(self) -> None:
        """Those who do not wait for the end of the run claim by their own way; what fails is swept then."""
        view = self._view()
        claimants: dict[str, str] = {view.winner: "winner"} if view.outcome is Outcome.AWARDED else {}
        if self.plan.temper != PosterTemper.SILENT:
            claimants[view.poster] = "poster"
        for actor in self.town.actors.values():
            due = int(self.town.ask("claimable", self.number, actor.address))
            role = claimants.get(actor.address)
            if not due or (role is None and actor.name not in {"guardian-1", "guardian-2"}):
                continue
            # No Guardian's fee is claimed by a command here.
            way = actor.way if actor.way == Way.LIBRARY or (role and actor.way == Way.COMMAND) else Way.RAW
            try:
                self._claim(actor, way, role)
                self.town.log.write("act", "ok", act="claim", bounty=self.number, by=actor.name, way=way)
            except Exception as error:  # noqa: BLE001 - in the log, and swept at the end
                why = f"{type(error).__name__} {error}"[:300]
                self.town.log.write("act", "failed", act="claim", bounty=self.number, by=actor.name, why=why)

    def _claim(self, actor: Actor, way: Way, role: str | None) -> None:
        number = BountyId(self.number)
        if way == Way.LIBRARY:
            actor.client.claim(number) if role else actor.client.claim_fee(number)
        elif way == Way.COMMAND and actor.person is not None:
            actor.person.run("claim", str(number))
        elif role == "winner":
            self.town.transact(actor, self.town.hub, "claim", self.number, b"", b"")
        else:
            self.town.transact(actor, self.town.hub, "claimRefund" if role else "claimGuardianFee", self.number)

    def _deliver(self) -> None:
        """A Guardian delivers the winning key, and the Poster gets exactly the winner's files, both by the library."""
        view, poster = self._view(), self.town.actors[self.plan.poster]
        work = next((each for each in self.works.values() if each.commitment == view.winning_submission), None)
        if work is None or work.directory is None or view.winner != work.actor.address:
            return
        if poster.way != Way.LIBRARY or self.plan.temper != PosterTemper.HONEST:
            return
        named = {"act": "deliver", "bounty": self.number, "way": poster.way}
        number, folder = BountyId(self.number), poster.home / f"won-{self.number}"
        for _ in range(DELIVERY_ATTEMPTS):
            try:
                self.town.actors["guardian-3"].client.deliver_key(number)
                poster.client.open_winning_work(number, folder)
            except Exception as error:  # noqa: BLE001 - in the log, and tried again
                why = f"{type(error).__name__} {error}"[:300]
                self.town.log.write("act", "failed", why=why, **named)
                self.town.pause(3.0)
                continue
            self.town.log.write("act", "ok", **named)
            if not same_files(folder, work.directory):
                self.town.log.differs("the Poster has other files than the winner sealed", bounty=self.number)
            return
        self.town.log.differs("winning work was not delivered", bounty=self.number)

    def _view(self) -> BountyView:
        return self.town.bounty(self.number)

    def _asked(
        self, method: str, path: str, body: bytes, by: Actor | None, media: str = "application/json"
    ) -> dict[str, Any]:
        answer = self.town.request(method, path, body, by=by, media=media)
        if answer.status not in {200, 201}:
            raise Unanswered(f"{method} {path}: {answer.status} {answer.data[:200]!r}")
        found: dict[str, Any] = answer.json()
        return found
