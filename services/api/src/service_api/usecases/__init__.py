"""What the api does, one module per use case: plain functions of typed values, called by the routes."""
