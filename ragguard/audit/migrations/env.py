"""Run by Alembic: hands it the connection, with its transaction, that `ragguard.audit` opened."""

from __future__ import annotations

from alembic import context

from ragguard.audit.models import Base
from ragguard.audit.schema import VERSION_TABLE

given = context.config.attributes
context.configure(
    connection=given["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    render_item=given.get("render_item"),
)
with context.begin_transaction():
    context.run_migrations()
