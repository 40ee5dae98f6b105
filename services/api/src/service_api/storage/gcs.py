"""The object storage: a bucket of Google Cloud Storage, through google-cloud-storage.

An upload URL creates the object once (a second use is refused), takes exactly the stated number of bytes and expires;
an object never changes under its generation; reading is bounded in memory. How objects are named: docs/formats.md.

Uploads are V4 signed URLs whose signed headers fix create-only (``x-goog-if-generation-match``), the exact length
(``x-goog-content-length-range``) and the type. Wrong bytes are replaced by an empty object, whose generation the next
URL names: with nothing in their place, the URL that stored them would work again. Every call has a time limit and is
retried only where repeating it is harmless. ``ServiceError`` hides the library's messages; the log has them. Without a
key the workload's identity signs through IAM (it needs ``iam.serviceAccounts.signBlob`` on itself). The same adapter
runs against the local stack's storage, chosen by ``SERVICE_STORAGE_ENDPOINT``. What it answers is bounded in time and
bytes, and never decoded.

Like every other part it goes by no proxy, ``.netrc`` or certificates of the environment; ``requests`` would look for
them at each request, which took a third of its time.
"""

import functools
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import google.auth
import requests
import requests.adapters
import urllib3.exceptions
from bounty_protocol.errors import ServiceError
from bounty_protocol.timely import AnswerEncoded, ThreadLimits, is_encoded
from bounty_protocol.types import Bytes32, UnixSeconds
from google.api_core import exceptions as api_errors
from google.auth import exceptions as auth_errors
from google.auth import iam
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY
from google.oauth2 import service_account
from service_common.log import get_logger

from service_api.storage.settings import StorageSettings

CHUNK_BYTES: Final = 8 * 1024 * 1024
CALL_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 8.0
ANSWER_SECONDS: Final = 30.0
"""Seconds for a whole answer, however slowly its bytes come."""
PLAIN_BYTES: Final = 64 * 1024
"""Bytes of an answer that describes an object, or an error."""
LIST_BYTES: Final = 2 * 1024 * 1024
"""Bytes of a page of a list, which has up to a thousand objects."""
_SCOPES: Final = ["https://www.googleapis.com/auth/devstorage.read_write", "https://www.googleapis.com/auth/iam"]
_CONTENT_TYPE: Final = "application/octet-stream"
_POOL: Final = 32
_EMPTYING_SECONDS: Final = 60
"""Seconds that the URL lives by which this service empties a place."""
_GONE: Final = (api_errors.NotFound, api_errors.PreconditionFailed, api_errors.RequestRangeNotSatisfiable)
_FAILURES: Final = (
    api_errors.GoogleAPIError,
    auth_errors.GoogleAuthError,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    TimeoutError,
)
_MALFORMED: Final = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Exceptions of the library for JSON of another shape than the storage's."""

_PROBE: Final = "readiness/created-once"
"""The object by which readiness learns whether the storage keeps preconditions."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignedUrl:
    """A URL that works until ``expires_at`` for anyone who has it, with every header of ``headers`` unchanged."""

    url: str = field(repr=False)
    expires_at: UnixSeconds
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored object as it is now. ``generation`` names these very bytes.

    ``encoded`` means that the uploader declared a content encoding, so that a download might be transformed on its
    way: such an object is never the ciphertext it claims to be.
    """

    locator: str
    generation: int
    byte_length: int
    created_at: UnixSeconds
    encoded: bool = False


class ObjectGone(ServiceError):
    """The requested generation does not exist any more: look again with ``stat``."""

    def __init__(self) -> None:
        super().__init__("storage_unavailable", "The stored object changed while it was being read.")


class _CredentialsElsewhere(service_account.Credentials):  # type: ignore[misc]  # google-auth has no types
    """For a storage that is not Google's: the library would send its token to Google to ask for allowed regions."""

    def _is_regional_access_boundary_lookup_required(self) -> bool:
        return False


class GcsStore:
    """One bucket of Google Cloud Storage, or of something with the same protocol."""

    def __init__(self, settings: StorageSettings, *, retry_seconds: float = RETRY_SECONDS) -> None:
        """Make no request until the first call, except that workload identity asks the metadata server for
        its account.
        """
        with _mapped("identify"):
            credentials = _credentials(settings)
            self._signer = functools.cache(functools.partial(_signing, credentials))
        session = AuthorizedSession(credentials, refresh_timeout=CALL_SECONDS, auth_request=_requesting())
        session.trust_env = False
        session.max_redirects = 0  # the storage itself redirects nothing
        for scheme in ("https://", "http://"):
            session.mount(scheme, _BoundedAdapter(pool_connections=4, pool_maxsize=_POOL))
        self._plain = requests.Session()
        self._plain.trust_env = False
        self._plain.mount("https://", _BoundedAdapter())
        self._plain.mount("http://", _BoundedAdapter())
        options = {"api_endpoint": settings.endpoint} if settings.endpoint else None
        self._client = storage.Client("-", credentials, _http=session, client_options=options)
        # The library would ask for the bucket's metadata in a background thread, for traces, without having the right.
        self._client._bucket_metadata_cache = None  # noqa: SLF001
        self._endpoint = settings.endpoint
        self._refuses_second_uploads = False
        self._bucket = self._client.bucket(settings.bucket)
        self._limits: dict[str, Any] = {
            "timeout": CALL_SECONDS,
            "retry": DEFAULT_RETRY.with_delay(initial=0.2, maximum=2.0).with_timeout(retry_seconds),
        }

    def sign_upload(self, locator: str, *, sha256: Bytes32, byte_length: int, lifetime: int) -> SignedUrl:
        """Sign a PUT of exactly ``byte_length`` bytes to a free locator, for ``lifetime`` seconds: once, and never
        again after its object was emptied. No two are the same.

        ``sha256`` is kept with the object as the uploader's claim; only ``verify`` makes it a fact.
        """
        found = self._look(locator)
        emptied = found.generation if found is not None and found.byte_length == 0 else 0
        headers = {
            "content-type": _CONTENT_TYPE,
            "x-goog-content-length-range": f"{byte_length},{byte_length}",
            "x-goog-if-generation-match": str(emptied),
            "x-goog-meta-sha256": sha256[2:],
        }
        unique = {"upload": secrets.token_hex(8)}  # URLs signed within one second would be equal
        return self._signed("PUT", locator, lifetime, headers=headers, query_parameters=unique)

    def sign_download(self, locator: str, *, generation: int, lifetime: int) -> SignedUrl:
        """Sign a download of this generation and no other, for ``lifetime`` seconds."""
        return self._signed("GET", locator, lifetime, generation=generation)

    def stat(self, locator: str) -> ObjectInfo | None:
        """Return the stored object's facts now; None if nothing is there, or it was emptied."""
        found = self._look(locator)
        return None if found is None or found.byte_length == 0 else found

    def read(self, info: ObjectInfo) -> Iterator[bytes]:
        """Yield the bytes of one generation in chunks of at most ``CHUNK_BYTES``; ``ObjectGone`` once it is
        replaced.

        Each chunk is its own request, so that a lost connection repeats one chunk only.
        """
        blob = self._bucket.blob(info.locator, generation=info.generation)
        for start in range(0, info.byte_length, CHUNK_BYTES):
            end = min(start + CHUNK_BYTES, info.byte_length) - 1
            with _mapped("read"):
                try:
                    chunk = blob.download_as_bytes(
                        start=start, end=end, raw_download=True, checksum=None, **self._limits
                    )
                except _GONE as error:
                    raise ObjectGone from error
            if len(chunk) != end - start + 1:
                raise ObjectGone
            yield chunk

    def delete(self, locator: str, *, generation: int) -> bool:
        """Delete this generation and no other; False when it is not there (any more).

        An object that a repeated attempt finds gone is reported as one that was never there.
        """
        with _mapped("delete"):
            try:
                self._bucket.delete_blob(locator, generation=generation, **self._limits)
            except _GONE:
                return False
            return True

    def empty(self, locator: str, *, generation: int) -> bool:
        """Remove the bytes of this generation and no other, so that no upload signed until now works; False if it is
        not there (any more).
        """
        headers = {"content-type": _CONTENT_TYPE, "x-goog-if-generation-match": str(generation)}
        signed = self._signed("PUT", locator, _EMPTYING_SECONDS, headers=headers)
        with _mapped("empty"):
            answer = self._plain.put(signed.url, data=b"", headers=headers, timeout=CALL_SECONDS, allow_redirects=False)
            if answer.status_code in {404, 412}:
                return False
            answer.raise_for_status()
            return True

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Yield every object whose locator starts with ``prefix``, in the order of locators."""
        blobs = iter(self._bucket.list_blobs(prefix=prefix, **self._limits))
        while True:
            with _mapped("list"):
                blob = next(blobs, None)
                found = None if blob is None else _info(blob)
            if found is None:
                return
            yield found

    def check(self) -> None:
        """Return if the bucket answers, and creates no object twice that it is to create once; for readiness.

        It needs no right beyond those that the service has anyway.
        """
        with _mapped("check"):
            next(iter(self._bucket.list_blobs(max_results=1, timeout=CALL_SECONDS, retry=None)), None)
        if not self._refuses_second_uploads:
            self._refuses_second_uploads = self._try_twice()

    def check_deletion(self) -> str:
        """Create an object by a signed URL and delete it again, as uploads are; for the command ``check``."""
        locator = f"readiness/{secrets.token_hex(8)}"
        headers = {"content-type": _CONTENT_TYPE, "x-goog-if-generation-match": "0"}
        url = self._signed("PUT", locator, _EMPTYING_SECONDS, headers=dict(headers)).url
        with _mapped("check"):
            answer = self._plain.put(url, data=b"", headers=headers, timeout=CALL_SECONDS, allow_redirects=False)
            answer.raise_for_status()
        found = self._look(locator)
        if found is None or not self.delete(locator, generation=found.generation):
            raise ServiceError("storage_unavailable", "The object storage does not show what it just stored.")
        return "signed, stored and deleted an object"

    def _try_twice(self) -> bool:
        """Create an empty object twice, as upload URLs do; raise if the storage also accepts the second one."""
        headers = {"content-type": _CONTENT_TYPE, "x-goog-if-generation-match": "0"}
        url = self._signed("PUT", _PROBE, _EMPTYING_SECONDS, headers=dict(headers)).url
        with _mapped("check"):
            for _ in range(2):
                answer = self._plain.put(url, data=b"", headers=headers, timeout=CALL_SECONDS, allow_redirects=False)
                if answer.status_code == 412:
                    return True
                answer.raise_for_status()
        message = "The artifact storage ignores preconditions: an upload URL would work more than once."
        log.error("storage_failed", action="check", error=message)
        raise ServiceError("storage_unavailable", message)

    def close(self) -> None:
        """Close the connections."""
        self._plain.close()
        self._client.close()

    def _look(self, locator: str) -> ObjectInfo | None:
        with _mapped("stat"):
            blob = self._bucket.get_blob(locator, **self._limits)
            return None if blob is None else _info(blob)

    def _signed(
        self, method: str, locator: str, lifetime: int, *, headers: Mapping[str, str] | None = None, **more: object
    ) -> SignedUrl:
        expires_at = UnixSeconds(int(time.time()) + lifetime)
        with _mapped("sign"):
            url = self._bucket.blob(locator).generate_signed_url(
                version="v4",
                method=method,
                expiration=timedelta(seconds=lifetime),
                api_access_endpoint=self._endpoint,
                credentials=self._signer(),
                headers=dict(headers or {}),
                **more,
            )
        return SignedUrl(url, expires_at, headers or {})


class _BoundedAdapter(requests.adapters.HTTPAdapter):
    """Answers within a time and as many bytes as their kind needs; one with a content encoding is refused.

    The library requests compressed answers and decodes them without a bound; here none is requested.
    """

    def __init__(self, **options: Any) -> None:
        self._allowances = ThreadLimits()
        super().__init__(**options)

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = self._allowances.pool_classes

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        request.headers["Accept-Encoding"] = "identity"
        with self._allowances.granted(ANSWER_SECONDS, _most_bytes(request.url or "")):
            response = super().send(request, *arguments, **options)
        if is_encoded(response.headers.get("Content-Encoding")):
            response.close()
            raise requests.exceptions.ContentDecodingError(str(AnswerEncoded()))
        return response


def _most_bytes(url: str) -> int:
    """Return the maximum bytes of an answer: part of an object, a page of a list, or a description."""
    parts = urlsplit(url)
    if "alt=media" in parts.query.split("&"):
        return CHUNK_BYTES
    return LIST_BYTES if parts.path.endswith("/o") else PLAIN_BYTES


def _credentials(settings: StorageSettings) -> Any:  # google-auth has no types
    if settings.credentials is not None:
        key = json.loads(settings.credentials)
        try:
            kind = service_account.Credentials if settings.endpoint is None else _CredentialsElsewhere
            return kind.from_service_account_info(key, scopes=_SCOPES)
        except ValueError:
            raise auth_errors.MalformedError("the service account's key cannot be read") from None
    return google.auth.default(scopes=_SCOPES, request=_transport())[0]


def _signing(credentials: Any) -> Any:
    """Return credentials that can sign: the key's own, else the workload's account through IAM."""
    if isinstance(credentials, service_account.Credentials):
        return credentials
    request = _transport()
    if not credentials.valid:
        credentials.refresh(request)
    email = credentials.service_account_email
    return service_account.Credentials(iam.Signer(request, credentials, email), email, token_uri="")


def _transport() -> Any:
    return functools.partial(_requesting(), timeout=CALL_SECONDS)


def _requesting() -> Any:
    """Return a session for tokens and signatures that retries if the network fails."""
    session = requests.Session()
    session.trust_env = False
    session.mount("https://", requests.adapters.HTTPAdapter(max_retries=3))
    return Request(session)


def _info(blob: Any) -> ObjectInfo:
    return ObjectInfo(
        locator=str(blob.name),
        generation=int(blob.generation),
        byte_length=int(blob.size),
        created_at=UnixSeconds(int(blob.time_created.timestamp())),
        encoded=blob.content_encoding not in {None, ""},
    )


@contextmanager
def _mapped(action: str) -> Iterator[None]:
    """Turn what the library raises into one error that the caller can act on."""
    try:
        yield
    except (*_FAILURES, *_MALFORMED) as error:
        log.warning("storage_failed", action=action, error=type(error).__name__, detail=str(error)[:500])
        raise ServiceError("storage_unavailable", "The artifact storage does not answer.") from error
