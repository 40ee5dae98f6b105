"""The reference of the api's figures: Flask's smallest answer, on the same server with the same settings; and floors.

Of a signed read it is the same answer after a signature's key was recovered, which hands the interpreter's lock away;
of a detail the same after one statement in a transaction of the database.
"""

import os
from typing import Final

from bounty_protocol.auth.secp256k1 import BINDING
from flask import Flask
from service_common.db.engine import make_engine, reading
from sqlalchemy import literal, select

application = Flask(__name__)

_DIGEST: Final = bytes(range(32))
_SIGNATURE, _RECOVERY_ID = BINDING.sign(_DIGEST, bytes(31) + b"\x01")
_ENGINE: Final = make_engine(os.environ["SERVICE_DATABASE_URL"], application="hello")


@application.route("/")
def hello() -> str:
    return "hello"


@application.route("/recovered")
def recovered() -> str:
    assert BINDING.recover(_DIGEST, _SIGNATURE, _RECOVERY_ID) is not None
    return "hello"


@application.route("/read")
def read() -> str:
    with reading(_ENGINE) as connection:
        connection.execute(select(literal(1))).one()
    return "hello"
