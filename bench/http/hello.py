"""The reference of the api's figures: Flask's smallest answer, on the same server with the same settings."""

from flask import Flask

application = Flask(__name__)


@application.route("/")
def hello() -> str:
    return "hello"
