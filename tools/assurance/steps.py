"""Every campaign: its command, what it shows, and of which files its evidence is."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[2]
CONTRACTS: Final = TOP / "contracts"
TOOLS: Final = TOP / ".local" / "venv-assurance" / "bin"
PYTHON: Final = sys.executable
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
PROTOCOL: Final = "libs/bounty_protocol/src"
COMMON: Final = "libs/service_common/src"
AUTHENTICATION: Final = "libs/bounty_protocol/src/bounty_protocol/auth"
CRYPTO: Final = "libs/bounty_protocol/src/bounty_protocol/crypto"
INDEX: Final = ("services/indexer/src", PROTOCOL, COMMON)
API: Final = ("services/api/src", PROTOCOL, COMMON)
REVIEWER: Final = ("services/reviewer/src", PROTOCOL, COMMON)
PAGES: Final = ("services/web/src", "clients/typescript/src", PROTOCOL)
CLIENT: Final = ("cli/src", PROTOCOL)
SERVICES: Final = ("services", "libs")
PRODUCT: Final = (*SERVICES, "cli/src", "clients", "contracts/src")
IMAGES: Final = ("deploy/images", "requirements", "services/*/pyproject.toml")
EVERYTHING: Final = (".", ":!docs", ":!*.md")
COVERS: Final[dict[str, tuple[str, ...]]] = {
    **HUB_SOURCES,
    "bare-bookworm": EVERYTHING,
    "bare-trixie": EVERYTHING,
    "bare-forky": EVERYTHING,
    "steady": EVERYTHING,
    "reorg-storm": INDEX,
    "wrong-answers": INDEX,
    "provider-quirks": INDEX,
    "kills": INDEX,
    "client-kills": CLIENT,
    "client-lies": CLIENT,
    "client-plays": CLIENT,
    "guides": PRODUCT,
    "checker": (*PRODUCT, "tests/checker"),
    "market": (*PRODUCT, "tools/market"),
    "service-gone": PRODUCT,
    "chain-halts": PRODUCT,
    "stolen-guardian": PRODUCT,
    "successor": PRODUCT,
    "withheld": PRODUCT,
    "wallet-lies": PAGES,
    "wallet-plays": (*PAGES, *API),
    "wallet-transactions": PAGES,
    "smart-accounts": (*PAGES, *CLIENT),
    "audit-fuzz": CLIENT,
    "publications": (*API, *REVIEWER),
    "hostile-parsers": PRODUCT,
    "hostile-stack": SERVICES,
    "attacks": PRODUCT,
    "outages": SERVICES,
    "request-fuzz": (AUTHENTICATION,),
    "auth-mutants": (AUTHENTICATION, "tests/protocol/auth"),
    "sealing-sizes": (CRYPTO,),
    "typescript": ("clients/typescript", PROTOCOL),
    "typescript-package": ("clients/typescript",),
    "pages": PAGES,
    "shells": ("cli/src/service_cli/shell", "tools/shells.py"),
    "inspector": ("clients/mcp", *CLIENT),
    "firefox": PAGES,
    "webkit": PAGES,
    "by-hand": (CRYPTO, "docs/formats.md"),
    "images": IMAGES,
    "image-contents": IMAGES,
    "compose": (*IMAGES, "deploy/compose"),
    "cluster": ("deploy/k8s", "deploy/render"),
    "alerts": ("deploy/k8s/components/monitoring", "tests/deploy/alerts.yaml"),
}
"""What each step's evidence is of, as git's patterns of paths: a change of one of them makes it stale."""
PLAYED_APART: Final = ("tests/cli/plays", "tests/e2e/test_wallet_plays.py", "tests/indexer/test_wrong_answers.py")
"""Tests of attacks that are steps of their own, each of half an hour."""


@dataclass(frozen=True, slots=True)
class CampaignStep:
    """One campaign: a command, where it runs, what it adds to the environment, and what it shows."""

    name: str
    shows: str
    command: tuple[str, ...]
    cwd: Path = TOP
    environment: tuple[tuple[str, str], ...] = ()


def steps(since: str | None = None) -> list[CampaignStep]:
    """Every campaign, the short ones first; of the mutants of the Hub only those of lines changed since a commit."""
    from local_stack.toolbox import ensure_npm_package, native_program

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
        CampaignStep(
            "guides",
            "the tour and the guides, typed word by word on a stack whose clocks are moved; their screens",
            (PYTHON, "-m", "tools.guides.play"),
        ),
        _tests(
            "checker",
            "a stack with bounties of every ending, checked by a program that shares no code with it: no difference, "
            "and each planted fault found where it was planted",
            "tests/checker",
        ),
        CampaignStep(
            "market",
            "a market for a minute: actors, faults and hostile acts drawn from a seed, reorgs and kills among them; "
            "everything settled, paid, indexed and told, and nothing that the checker finds",
            (PYTHON, "-m", "tools.market", "--seed", "57", "--minutes", "1"),
        ),
        _tests(
            "service-gone",
            "a bounty whose service and storage end for good after the reveal point: opened, judged and paid by what "
            "was kept",
            "tests/e2e/test_service_gone.py",
        ),
        _tests(
            "chain-halts",
            "no block for two minutes while two bounties run, to the last claim of both",
            "tests/e2e/test_chain_halts.py",
            "tests/e2e/test_wallet_halts.py",
        ),
        _tests(
            "stolen-guardian",
            "a Guardian's key stolen while a bounty runs: the others are told, decide, and are paid",
            "tests/e2e/test_stolen_guardian.py",
        ),
        _tests(
            "withheld",
            "a page and a Verdict that an operator must not show, on a live stack from the decision to its end",
            "tests/e2e/test_withheld.py",
        ),
        _tests(
            "successor",
            "a Hub left for another: two deployments side by side on one database server, to the old one's last claim",
            "tests/e2e/test_successor.py",
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
