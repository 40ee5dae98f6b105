"""The reference of the api's figures: Flask's smallest answer, on the same server with the same settings; and the floor
of a signed read, the same answer after a signature's key was recovered, which hands the interpreter's lock away."""

from typing import Final

from bounty_protocol.auth.secp256k1 import BINDING
from flask import Flask

application = Flask(__name__)

_DIGEST: Final = bytes(range(32))
_SIGNATURE, _RECOVERY_ID = BINDING.sign(_DIGEST, bytes(31) + b"\x01")


@application.route("/")
def hello() -> str:
    return "hello"


@application.route("/recovered")
def recovered() -> str:
    assert BINDING.recover(_DIGEST, _SIGNATURE, _RECOVERY_ID) is not None
    return "hello"
