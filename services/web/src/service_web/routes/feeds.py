from flask import Blueprint

routes = Blueprint("feeds", __name__)
