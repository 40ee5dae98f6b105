"""Secrets of webhooks: sealed to the worker, bound to their webhook, used as Standard Webhooks says."""

import base64
import time

import pytest
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.wire.values import WebhookId
from service_api.webhooks.secrets import CannotOpen, make_secret, open_sealed, seal, secret_text, signature_field
from standardwebhooks import Webhook, WebhookVerificationError

ONE, OTHER = WebhookId("wh_" + "1" * 32), WebhookId("wh_" + "2" * 32)


def test_secret__that_is_sealed__opens_with_the_key_of_the_worker_alone() -> None:
    former, current, foreign = (Identity.generate() for _ in range(3))
    secret = make_secret()
    sealed = seal(secret, former.public_key, ONE)
    assert secret not in base64.b64decode(sealed)
    assert open_sealed(sealed, [current, former], ONE) == secret
    with pytest.raises(CannotOpen):
        open_sealed(sealed, [foreign], ONE)


def test_secret__in_the_row_of_another_webhook__does_not_open() -> None:
    key = Identity.generate()
    sealed = seal(make_secret(), key.public_key, ONE)
    with pytest.raises(CannotOpen):
        open_sealed(sealed, [key], OTHER)


def test_signature__of_a_body__is_what_the_library_verifies_with_either_secret() -> None:
    current, former = make_secret(), make_secret()
    body, now = '{"type":"webhook.test","ä":1}'.encode(), int(time.time())
    fields = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": signature_field([current, former], "msg_1", now, body),
    }
    for secret in (current, former):
        assert Webhook(secret_text(secret)).verify(body, fields) == {"type": "webhook.test", "ä": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(make_secret())).verify(body, fields)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(current)).verify(body + b" ", fields)
