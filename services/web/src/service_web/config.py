"""The configuration of the pages: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.chain.deployment import HUB_HEADER, LOCAL_CHAIN_ID, BeaconRecord, caip_10
from bounty_protocol.types import Address, ChainId, parse_address
from service_common.chain.beacon_settings import read_beacon_record
from service_common.chain.settings import read_hub
from service_common.common_settings import parse_contact, read_budget_factor, read_log_level, read_report_address
from service_common.config import EnvironmentReader
from service_common.storage_settings import read_bucket, read_storage_endpoint
from service_common.web.settings import WebSettings, parse_origin, read_web_settings

from service_web.sponsors import Sponsor, parse_page, read_sponsor
from service_web.texts import ENGLISH, Texts, parse_language, read_texts

GOOGLE: Final = "https://storage.googleapis.com"
"""Where signed addresses of ciphertexts lead unless a deployment has another storage."""


@dataclass(frozen=True, slots=True)
class PagesConfig:
    """One deployment's pages. Origins have no path."""

    web: WebSettings
    api_url: str
    """Where this process reaches the public API."""
    pages_url: str
    """Under which origin people reach the pages; feeds and previews name it."""
    explorer_url: str | None
    """A block explorer with the paths ``/address/…`` and ``/tx/…``; without one nothing is linked."""
    sponsor: Sponsor | None
    """Who may pay the network's fee."""
    rate_feed: Address | None
    """A contract that states the price of an ether in the escrow token; without one fees are shown in ether alone."""
    faucet_url: str | None
    """Where ether of a test network is given away, for accounts without any."""
    security_contact: str | None
    """Whom to tell of a weakness; without one ``security.txt`` is not there."""
    report_address: str | None
    """Where unlawful text is reported; without one no page names it."""
    texts: Texts
    """Those of the one language in which these pages are."""
    chain_id: ChainId
    hub_address: Address
    """The contract that wallets are asked to call; never taken from the API."""
    beacon: BeaconRecord
    bucket_url: str
    """Below which pages upload and download ciphertexts; ends with a slash."""
    budget_factor: int
    log_level: int

    @property
    def public_api_url(self) -> str:
        """Where people reach the API."""
        scheme = self.pages_url.partition("://")[0]
        return f"{scheme}://{self.web.public_host}"

    @property
    def hub_header(self) -> tuple[str, str]:
        """How the API of this deployment names its Hub in every answer."""
        return HUB_HEADER, caip_10(self.chain_id, self.hub_address)

    @property
    def has_moved_time(self) -> bool:
        """Whether the chain's time is moved by hand, as a local one's is."""
        return self.chain_id == LOCAL_CHAIN_ID


def read_config(environment: Mapping[str, str]) -> PagesConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    web = read_web_settings(reader)
    chain_id, hub_address = read_hub(reader)
    endpoint, bucket = read_storage_endpoint(reader), read_bucket(reader)
    catalogues = reader.optional(
        "SERVICE_PAGES_CATALOGUES",
        Path,
        None,
        "a folder of catalogues, looked into instead",
        shown="none: those of the package",
    )
    config = PagesConfig(
        web=web,
        api_url=reader.required("SERVICE_API_URL", parse_origin, "the api, inside the cluster"),
        pages_url=reader.optional(
            "SERVICE_PAGES_URL",
            parse_origin,
            f"https://{web.public_host}",
            "under which origin people reach the pages; feeds and previews name it",
            shown="`https://` and the public host",
        ),
        explorer_url=reader.optional(
            "SERVICE_EXPLORER_URL",
            parse_origin,
            None,
            "a block explorer with the paths `/address/…` and `/tx/…`",
            shown="none: nothing is linked",
        ),
        sponsor=read_sponsor(reader),
        rate_feed=reader.optional(
            "SERVICE_RATE_FEED",
            parse_address,
            None,
            "a price feed on this chain (`latestRoundData()`, `decimals()`) that states what one ether is in the "
            "escrow token; the pages then show network fees in both, with the feed and its age",
            shown="none: fees are shown in ether",
        ),
        faucet_url=reader.optional(
            "SERVICE_FAUCET_URL",
            parse_page,
            None,
            "on a test network, where an account without ether gets some",
            shown="none",
        ),
        security_contact=reader.optional(
            "SERVICE_SECURITY_CONTACT",
            parse_contact,
            None,
            "whom to tell of a weakness, such as `mailto:security@bounties.example`, for `/.well-known/security.txt`",
            shown="none: there is no such file",
        ),
        report_address=read_report_address(reader),
        texts=reader.optional(
            "SERVICE_PAGES_LANGUAGE",
            lambda text: read_texts(parse_language(text), catalogues),
            ENGLISH,
            "the one language of the pages and feeds, such as `de` or `pt-BR`; each but "
            "`en` needs its catalogue ([web.md](web.md#translating-the-pages))",
            shown="`en`",
        ),
        chain_id=chain_id,
        hub_address=hub_address,
        beacon=read_beacon_record(reader, chain_id),
        bucket_url=f"{endpoint or GOOGLE}/{bucket}/",
        budget_factor=read_budget_factor(reader),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config
