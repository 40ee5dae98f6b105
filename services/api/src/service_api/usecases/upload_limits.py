"""How many upload URLs one Solver, and one client address, gets in an hour.

Promises: each limit is refilled evenly, so a full one lets through the next request after an hour divided by the limit;
what was refused is not counted. Only requests whose signer is proven count, and an account's own limit counts nothing
but what this account signed: nobody else can use it up. The address's limit, which people behind one address share,
does not hold up an account that was let through within the hour. The counts are in Redis and losing them loses no
fact: while it does not answer, everybody is let through.
"""

import ipaddress
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from service_common.errors import ServiceError
from service_common.log import get_logger
from service_common.types import Address

from service_api.config import UploadLimits

WINDOW_SECONDS: Final = 3_600
_IPV6_NETWORK: Final = 64
_PLACES: Final = """
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local window, wait, known, full = tonumber(ARGV[1]), 0, false, {}
for i, key in ipairs(KEYS) do
  local until_empty = tonumber(redis.call('GET', key) or 0)
  if i == 1 and until_empty > now then known = true end
  full[i] = math.max(until_empty, now) + window / ARGV[i + 1]
  if i == 1 or not known then wait = math.max(wait, full[i] - now - window) end
end
if wait > 0 then return math.ceil(wait / 1000) end
for i, key in ipairs(KEYS) do redis.call('SET', key, full[i], 'PX', math.ceil(full[i] - now)) end
return 0
"""
"""KEYS: the account's, the address's. ARGV: the window in milliseconds, then each key's limit. The seconds to wait.

A key holds the moment from which its limit is whole again (the generic cell rate algorithm)."""

log = get_logger(__name__)


def take_place(redis: Redis, limits: UploadLimits, account: Address, client_address: str) -> None:
    """Count one request, or raise 429 ``rate_limit_reached`` with the seconds after which there is room."""
    keys = [f"rate:upload:account:{account}", f"rate:upload:client:{client_network(client_address)}"]
    arguments = [WINDOW_SECONDS * 1000, limits.solver, limits.client]
    try:
        wait = int(str(redis.eval(_PLACES, len(keys), *keys, *arguments)))
    except RedisError as error:
        log.warning("upload limits not counted", reason=type(error).__name__)
        return
    if wait:
        message = "This account, or this network address, asked for as many upload URLs as it gets in an hour."
        raise ServiceError("rate_limit_reached", message, retry_after=wait)


def client_network(address: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 network that one subscriber has in IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if (mapped := found.ipv4_mapped) is not None:
            return str(mapped)
        return str(ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))
    return str(found)
