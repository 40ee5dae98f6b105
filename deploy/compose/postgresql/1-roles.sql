-- The roles and the database, as docs/install.md, "The first deployment", makes them. PostgreSQL's image runs this once,
-- on an empty volume.
CREATE ROLE service_migrator LOGIN;
CREATE ROLE service_api LOGIN;
CREATE ROLE service_pages LOGIN;
CREATE ROLE service_indexer LOGIN;
CREATE ROLE service_reviewer LOGIN;
CREATE ROLE service_delivery LOGIN;
CREATE ROLE service_backup LOGIN;
GRANT pg_read_all_data TO service_backup;
GRANT service_migrator TO CURRENT_USER;
CREATE DATABASE service OWNER service_migrator;
