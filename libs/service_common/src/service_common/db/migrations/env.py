"""Run by Alembic with the connection that ``service_common.db.migrate`` passes in."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="schema_version")
with context.begin_transaction():
    context.run_migrations()
