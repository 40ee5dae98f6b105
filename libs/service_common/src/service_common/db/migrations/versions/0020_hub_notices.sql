-- Notices about the Hub, the latest of each account that its owner names for them.

CREATE TABLE app.hub_notices (
    hub_address text NOT NULL,
    signer text NOT NULL,
    reason text NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    signature text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (hub_address, signer)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON app.hub_notices TO service_api;
