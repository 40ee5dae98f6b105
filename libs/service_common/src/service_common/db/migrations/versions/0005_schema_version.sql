-- Before it starts, each service waits until the schema is at its own release.

GRANT SELECT ON schema_version TO service_api, service_indexer, service_reviewer, service_delivery;
