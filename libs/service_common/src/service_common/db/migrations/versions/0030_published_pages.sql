-- Which pages of bounties were kept here, so that the inspection of titles notices one whose row is lost. The inspection
-- fills it, also for what a release before published.

CREATE TABLE app.published_pages (
    spec_commitment text PRIMARY KEY
);
GRANT SELECT, INSERT ON app.published_pages TO service_api;
