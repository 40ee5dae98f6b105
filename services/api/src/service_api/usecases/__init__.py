"""The api's use cases, one module each: plain functions of typed values, called by the routes."""
