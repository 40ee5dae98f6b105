"""The published description of the HTTP interface: OpenAPI 3.1, and a page to read it on."""
