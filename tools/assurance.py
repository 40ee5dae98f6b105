"""The long campaigns: run each step, keep what it printed, and write docs/assurance.md from the results.

Resumable: a step that passed for this commit is not run again unless named. A step that fails is reported as failed and
the others go on; the exit code is 1 when any failed. Nothing here decides what passes: the steps do. A step that cannot
run on this machine exits with 77 and is reported as not run.

What is shown of the Hub is shown of its sources: a step of HUB_SOURCES is done when it passed for the present ones,
whatever the commit, and its row names their digest, which the session `architecture` compares with the tree.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package, native_program

TOP: Final = Path(__file__).parent.parent
CONTRACTS: Final = TOP / "contracts"
RESULTS: Final = TOP / ".local" / "assurance"
TOOLS: Final = TOP / ".local" / "venv-assurance" / "bin"
PYTHON: Final = sys.executable
PAGE: Final = TOP / "docs" / "assurance.md"
NOT_RUN: Final = 77
HUB: Final = ("contracts/src/*.sol", "contracts/src/parts/*.sol", "contracts/artifacts/Hub.json")
"""The Hub, and what the compiler makes of it with the settings of contracts/foundry.toml."""
HUB_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "hub-model": (*HUB, "tests/contracts/model.py", "tests/contracts/machine.py"),
    "hub-slither": (*HUB, "contracts/slither-answers.toml"),
    "hub-proofs": (*HUB, "contracts/proofs/**/*.sol"),
    "hub-invariants": (
        *HUB,
        "contracts/test/Invariant.t.sol",
        "contracts/test/support/Ghosts.sol",
        "contracts/test/support/Handler.sol",
    ),
    "hub-planted": (*HUB, "contracts/mutants/*.patch"),
    "hub-mutants": (*HUB, "contracts/mutants/equivalent.toml"),
}
"""The sources of each step's evidence: the Hub, and what the step claims of it. Other tests are not among them:
one more makes no evidence worse."""
PLAYED_APART: Final = ("tests/cli/plays", "tests/e2e/test_wallet_plays.py", "tests/indexer/test_wrong_answers.py")
"""Tests of attacks that are steps of their own, each of half an hour."""
STOP_SECONDS: Final = 120.0
"""How long an interrupted step may take to stop what it started; the longest of them gives its own 90."""


@dataclass(frozen=True, slots=True)
class CampaignStep:
    """One campaign: a command, where it runs, what it adds to the environment, and what it shows."""

    name: str
    shows: str
    command: tuple[str, ...]
    cwd: Path = TOP
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended."""

    name: str
    state: str
    """``passed``, ``failed`` or ``not run``."""
    seconds: float
    commit: str
    date: str
    summary: str
    sources: str = ""
    """The digest of what it is evidence of, where HUB_SOURCES names it."""


def sources_digest(name: str, top: Path = TOP) -> str:
    """Changes with every source that a step is evidence of; empty for a step that names none."""
    patterns = HUB_SOURCES.get(name, ())
    files = sorted({file for pattern in patterns for file in top.glob(pattern)})
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(top)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16] if patterns else ""


def shown_digests(page: str) -> dict[str, str]:
    """The digest of each step that the page reports as passed, empty where its row has none."""
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| [^|]* \| passed \| ([^|]*) \|", page)
    return {name: "".join(re.findall(r"sources `(\w+)`", when)) for name, when in rows}


def steps(since: str | None = None) -> list[CampaignStep]:
    """Every campaign, the short ones first; of the mutants of the Hub only those of lines changed since a commit."""
    forge = str(native_program(ensure_npm_package(CONTRACTS), "forge"))
    halmos = (str(TOOLS / "halmos"), "--match-contract", "Proofs", "--forge-build-out", "out/proofs", "--loop", "5")
    mutate = (PYTHON, "tools/mutate.py", "--forge", forge, *(("--since", since) if since else ()))
    return [
        *(
            CampaignStep(
                f"bare-{suite}",
                f"`./noxw -s demo` and `./noxw` as an ordinary user of a fresh Debian ({release})",
                (PYTHON, "tools/bare_root.py", suite),
            )
            for suite, release in (("bookworm", "12"), ("trixie", "13"), ("forky", "testing"))
        ),
        CampaignStep(
            "steady",
            "`./noxw` ten times, its tests in another random order each time, five of them beside busy cores and disk",
            (PYTHON, "tools/steady.py", "--runs", "10", "--loaded", "5"),
        ),
        _tests("reorg-storm", "10,000 reorgs, the copy equal to the chain after them", "tests/indexer/test_storm.py"),
        _tests(
            "wrong-answers",
            "each wrong answer of an RPC endpoint at each call, of a history, a block, a reorg: none becomes a fact",
            "tests/indexer/test_wrong_answers.py",
        ),
        _tests(
            "provider-quirks",
            "120 histories behind an RPC provider with up to three quirks of real ones: the index is what the node has",
            "tests/indexer/test_provider_quirks.py",
        ),
        _tests("kills", "50 times kill -9 of a process, a database or the node", "tests/indexer/test_kills.py"),
        _tests(
            "client-kills",
            "kill -9 at every request of every command, then the command again",
            "tests/cli/test_kills.py",
        ),
        _tests(
            "client-lies",
            "every value that a command reads, forged one at a time: anything that is then signed is true",
            "tests/cli/test_lies.py",
        ),
        _tests(
            "client-plays",
            "8,900 plays of the client against a node, an API or one operator of both that forge one to three subjects "
            "over several runs, with kills and reorgs between, judged by the true chain",
            "tests/cli/plays",
        ),
        _tests(
            "webhook-histories",
            "1,000 drawn histories of reorgs, rebuilds, restores, kills and bad receivers: at the end of each every "
            "receiver has heard the chain",
            "tests/api/webhooks/test_histories.py",
        ),
        CampaignStep(
            "guides",
            "the tour and the guides, typed word by word on a stack whose clocks are moved; their screens",
            (PYTHON, "-m", "tools.guides.play"),
        ),
        _tests(
            "service-gone",
            "a bounty whose service and storage end for good after the reveal point: opened, judged and paid by what "
            "was kept",
            "tests/e2e/test_service_gone.py",
        ),
        _tests(
            "wallet-lies",
            "every value that a page reads from the API, the wallet's node or its own text, forged: no wallet is asked "
            "for anything else",
            "tests/e2e/test_wallet_lies.py",
        ),
        _tests(
            "wallet-plays",
            "500 plays on the pages against a wallet's node or an API that forge one to three facts over several "
            "visits, each closed anywhere, judged by the true chain",
            "tests/e2e/test_wallet_plays.py",
        ),
        _tests(
            "wallet-transactions",
            "the transaction of each step of a bounty cancelled, replaced, dropped, sped up in the wallet: done once; "
            "a Safe as Guardian, from roster to paid share",
            "tests/e2e/test_wallet_transactions.py",
            "tests/e2e/test_safe_guardian.py",
        ),
        _tests(
            "smart-accounts",
            "a bounty on the pages and acts of the libraries by accounts without ether, with a bundler (ERC-4337) and "
            "a paymaster service that pays, refuses, hangs, is away or is wrong",
            "tests/e2e/smart_accounts",
        ),
        _tests(
            "audit-fuzz",
            "5,000 altered audit bundles, each reported or refused",
            "tests/cli/audit/test_bundle_fuzz.py",
        ),
        _tests(
            "publications",
            "400 identical and 200 different publications at once; hostile pages of 256 KiB",
            "tests/api/test_reviews.py",
            "tests/reviewer/test_hostile_pages.py",
        ),
        _tests(
            "hostile-parsers",
            "input from anyone: twice the length costs at most two and a half times as much",
            "tests/hostile/test_growth.py",
            "tests/protocol/domain/test_frontmatter.py",
        ),
        _tests(
            "hostile-stack",
            "100,000 requests made from the published interface, changed and not: each answer is one it announces",
            "tests/hostile/test_stack.py",
        ),
        _tests(
            "attacks",
            "every attack from outside that once succeeded, and every bound that docs/threat-model.md states, tried; "
            "those of `client-plays`, `wallet-plays` and `wrong-answers` there",
            *("-m", "attack", "tests", *(f"--ignore={path}" for path in PLAYED_APART)),
        ),
        _tests(
            "outages",
            "each dependency down, hanging, slow, flapping, full or locked, under a whole stack",
            "tests/drills",
        ),
        CampaignStep(
            "runbooks",
            "faults caused on a stack that Prometheus watches, and the runbook of each alert followed to the letter",
            (PYTHON, "-m", "tools.runbooks"),
        ),
        CampaignStep(
            "absence",
            "each process of the stack away for ten minutes while bounties are played: each ends, the index goes on",
            (PYTHON, "-m", "tools.absence"),
        ),
        _tests(
            "upgrade", "the release before and this one side by side, there and back, no request fails", "tests/upgrade"
        ),
        _tests("request-fuzz", "100,000 mutated requests, none accepted", "tests/protocol/auth"),
        CampaignStep(
            "auth-mutants",
            "every small change to the request verification, each found by its tests",
            (PYTHON, "tools/mutate_auth.py"),
            TOP,
            (),
        ),
        _tests(
            "sealing-sizes",
            "100,000 files, a file above 4 GiB in 64 MiB of memory, every bit of a capsule flipped",
            "tests/protocol/crypto/test_sizes.py",
        ),
        _tests(
            "typescript",
            "10,000 files and 1 GiB between the TypeScript client and Python, 10,000 altered files refused alike, "
            "10,000 drawn requests, terms and envelopes, each public type made any",
            "tests/clients",
        ),
        CampaignStep(
            "typescript-package",
            "the TypeScript client packed by a fresh clone, installed into fresh projects: types, Node, Vite in a "
            "browser, a server-rendering framework, each with the lowest and the newest viem",
            (PYTHON, "-m", "tools.typescript_package"),
        ),
        _tests(
            "pages",
            "every page in a browser, narrow and wide, light and dark; hostile pages with the policy on and off",
            "tests/web/test_browser.py",
        ),
        CampaignStep("shells", "completion by Tab in zsh and fish of Debian", (PYTHON, "tools/shells.py")),
        CampaignStep("inspector", "the Inspector of MCP against the server for agents", (PYTHON, "tools/inspector.py")),
        CampaignStep("firefox", "a whole bounty with wallets alone, in Firefox", (PYTHON, "-m", "tools.firefox")),
        CampaignStep(
            "webkit",
            "every page, and a whole bounty with wallets alone, in WebKitGTK, the engine nearest to Safari's",
            (PYTHON, "-m", "tools.webkit"),
        ),
        _tests(
            "by-hand",
            "the recipes of docs/formats.md with Debian's age: sealed and opened without this project",
            *("tests/protocol/crypto/test_by_hand.py", "tests/api/test_by_hand.py"),
        ),
        CampaignStep(
            "images",
            "every image built by buildah twice, the same to the byte, and a whole stack of them run as pods run them",
            (PYTHON, "tools/images.py"),
        ),
        _tests(
            "image-contents",
            "what every image holds, none of it of two packages",
            "tests/deploy/test_images.py",
        ),
        CampaignStep(
            "compose",
            "`deploy/compose` brought up by Docker as its README describes: bounties, kills, a restore, an upgrade",
            (PYTHON, "tools/compose.py"),
        ),
        CampaignStep(
            "cluster",
            "every overlay and component applied to a real API server, strictly: again, upgraded, deleted",
            (PYTHON, "-m", "tools.cluster"),
        ),
        CampaignStep(
            "alerts",
            "every alert fires on its series and is silent on its neighbours, by Debian's promtool",
            (PYTHON, "tools/alerts.py"),
            TOP,
            (),
        ),
        _tests("hub-model", "random histories of the Hub against the Python model", "tests/contracts"),
        _hub(
            "hub-slither",
            "slither, each of its findings answered in contracts/slither-answers.toml",
            "mutants",
            (PYTHON, "tools/slither.py", "--slither", str(TOOLS / "slither")),
        ),
        _hub(
            "hub-proofs",
            "halmos lemmas from an arbitrary storage, of the Hub as the optimizer leaves it",
            "proofs",
            (*halmos, "--solver-timeout-assertion", "60000"),
        ),
        _hub(
            "hub-invariants",
            "1,050,000 calls of random histories with per-bounty books",
            "assurance",
            (PYTHON, "tools/histories.py", "--forge", forge),
        ),
        _hub(
            "hub-planted",
            "every bug of contracts/mutants, planted and found by the test that it names",
            "default",
            (PYTHON, "tools/check.py", "all-mutants"),
        ),
        _hub("hub-mutants", "every small change to the Hub, found by the tests", "default", mutate),
    ]


def _tests(name: str, shows: str, *paths: str) -> CampaignStep:
    return CampaignStep(name, shows, (PYTHON, "-m", "pytest", "-q", *paths), TOP, (("SERVICE_CAMPAIGN", "full"),))


def _hub(name: str, shows: str, profile: str, command: tuple[str, ...]) -> CampaignStep:
    return CampaignStep(name, shows, command, CONTRACTS, (("FOUNDRY_PROFILE", profile),))


def main() -> int:
    """Run what is not done yet, or what is named."""
    names = ", ".join(step.name for step in steps())
    parser = argparse.ArgumentParser(prog="assurance", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="STEP", help=f"one or more of {names}")
    parser.add_argument(
        "--since", metavar="COMMIT", help="hub-mutants: only lines that COMMIT, of which it passed, does not have"
    )
    options = parser.parse_args()
    known = steps(options.since)
    unknown = set(options.names) - {step.name for step in known}
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    commit, failed = _commit(), False
    for step in known:
        done = _load(step)
        is_done = done is not None and done.state == "passed" and _is_of(done, commit)
        wanted = step.name in options.names if options.names else not is_done
        if wanted:
            done = _run(step, commit)
        if done is not None:
            failed |= done.state == "failed"
            print(f"{done.state:<7} {done.name} ({done.seconds:.0f} s) {done.summary}", flush=True)
    _write_page(known)
    return 1 if failed else 0


def _is_of(done: StepResult, commit: str) -> bool:
    """Whether a result is about the present tree."""
    return done.sources == sources_digest(done.name) if done.name in HUB_SOURCES else done.commit == commit


def _run(step: CampaignStep, commit: str) -> StepResult:
    print(f"assurance: {step.name}: {step.shows}", file=sys.stderr, flush=True)
    forge = Path(str(native_program(ensure_npm_package(CONTRACTS), "forge"))).parent
    path = os.pathsep.join((str(forge), str(TOOLS), os.environ["PATH"]))  # halmos looks for its solver there
    environment = {**os.environ, **dict(step.environment), "PATH": path}
    sources = sources_digest(step.name)
    started, log = time.monotonic(), RESULTS / f"{step.name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(step.command, cwd=step.cwd, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the terminal's reached the step, too, which stops what it started
            _end(process)
            raise
    result = StepResult(
        step.name,
        {0: "passed", NOT_RUN: "not run"}.get(code, "failed"),
        time.monotonic() - started,
        commit,
        datetime.now(UTC).strftime("%Y-%m-%d"),
        _summary(log.read_text(errors="replace")),
        sources,
    )
    (RESULTS / f"{step.name}.json").write_text(json.dumps(asdict(result)), encoding="utf-8")
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()


def _summary(log: str) -> str:
    """The line of a log that shows how it ended."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", log)
    endings = r"passed|killed|green|result\(s\) found|^not run|^FAILED"
    found = [line.strip(" =") for line in plain.splitlines() if re.search(endings, line)]
    proven = [line for line in found if line.startswith("Symbolic test result")]  # one for each contract of lemmas
    return "; ".join(proven or found[-1:])[:600]


def _load(step: CampaignStep) -> StepResult | None:
    try:
        return StepResult(**json.loads((RESULTS / f"{step.name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write_page(known: list[CampaignStep]) -> None:
    """docs/assurance.md, from every result there is; a step that was not run on this machine keeps its former row."""
    former = {line.split("`")[1]: line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"}
    rows = []
    for step in known:
        result = _load(step)
        if result is None:
            rows.append(former.get(step.name, f"| `{step.name}` | {step.shows} | not run | | |"))
            continue
        state = f"**{result.state}**" if result.state == "failed" else result.state
        found = f"{result.date}, {result.seconds:.0f} s, `{result.commit[:10]}`"
        found += f", sources `{result.sources}`" if result.sources else ""
        rows.append(f"| `{step.name}` | {step.shows} | {state} | {found} | {result.summary} |")
    page = (
        "# Assurance\n\n"
        "Campaigns that are too long for every change: `./noxw -s assurance` runs what has not passed for the present\n"
        "commit, `./noxw -s assurance -- STEP` one of them. This page is written by that session.\n\n"
        "A row about the Hub names the digest of the sources that it is evidence of: `./noxw -s architecture` fails\n"
        "where they have changed since.\n\n"
        f"Last written on {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores.\n\n"
        "| step | shows | result | when | last line |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
        f"\n## The runs of `steady`\n\n{_steady_runs()}\n"
    )
    PAGE.write_text(page, encoding="utf-8")


def _steady_runs() -> str:
    """The table that the newest run of ``steady`` printed, here or, as the page has it, elsewhere."""
    for text in ((RESULTS / "steady.log"), PAGE):
        lines = text.read_text(encoding="utf-8", errors="replace").splitlines() if text.exists() else []
        if table := [line for line in lines if re.match(r"\| (run|\d+) \|", line)]:
            return "\n".join([table[0], "|---" * (table[0].count("|") - 1) + "|", *table[1:]])
    return "Not run."


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
