"""The schema of release 0.1.0, the first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Move the tables on."""
    op.create_table(
        "ragguard_allowances",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("effect", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("tenant", "key", "source", "effect"),
    )
    with op.batch_alter_table("ragguard_allowances", schema=None) as batch_op:
        batch_op.create_index("ragguard_allowances_changed", ["changed"], unique=False)

    op.create_table(
        "ragguard_answer_key",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "ragguard_answers",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("passages", sa.Text(), nullable=False),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    with op.batch_alter_table("ragguard_answers", schema=None) as batch_op:
        batch_op.create_index("ragguard_answers_by_digest", ["tenant", "digest"], unique=False)
        batch_op.create_index("ragguard_answers_by_tenant", ["tenant", "seq"], unique=False)
        batch_op.create_index("ragguard_answers_by_time", ["given_at"], unique=False)

    op.create_table(
        "ragguard_counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "ragguard_events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("reporter", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("claimable_at", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts_before", sa.Integer(), server_default="0", nullable=False),
        sa.Column("reports", sa.Integer(), server_default="1", nullable=False),
        sa.Column("cut", sa.Text(), nullable=True),
        sa.Column("lanes", sa.Text(), server_default="0000000000000000", nullable=False),
        sa.Column("lane", sa.Text(), server_default="0000000000000000", nullable=False),
        sa.Column("turn", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bare", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("attribution_json", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("id"),
    )
    with op.batch_alter_table("ragguard_events", schema=None) as batch_op:
        batch_op.create_index(
            "ragguard_events_by_lane",
            ["lane", "turn"],
            unique=False,
            sqlite_where=sa.text("claimable_at IS NOT NULL"),
            postgresql_where=sa.text("claimable_at IS NOT NULL"),
        )
        batch_op.create_index(
            "ragguard_events_by_status", ["status", "created_at", "seq"], unique=False
        )
        batch_op.create_index(
            "ragguard_events_by_tenant", ["tenant", "created_at", "seq"], unique=False
        )
        batch_op.create_index(
            "ragguard_events_by_turn",
            ["turn", "seq"],
            unique=False,
            sqlite_where=sa.text("claimable_at IS NOT NULL"),
            postgresql_where=sa.text("claimable_at IS NOT NULL"),
        )
        batch_op.create_index(
            "ragguard_events_with_passages_by_turn",
            ["bare", "turn", "seq"],
            unique=False,
            sqlite_where=sa.text("claimable_at IS NOT NULL"),
            postgresql_where=sa.text("claimable_at IS NOT NULL"),
        )

    op.create_table(
        "ragguard_meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "ragguard_quarantine",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("passage_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("changed", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reporters", sa.Text(), server_default="[]", nullable=False),
        sa.Column("lanes", sa.Text(), server_default="", nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.Column("lapsed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("tenant", "key"),
    )
    with op.batch_alter_table("ragguard_quarantine", schema=None) as batch_op:
        batch_op.create_index(
            "ragguard_quarantine_by_status", ["status", "updated_at"], unique=False
        )
        batch_op.create_index(
            "ragguard_quarantine_by_tenant", ["tenant", "created_at", "seq"], unique=False
        )
        batch_op.create_index("ragguard_quarantine_changed", ["changed"], unique=False)
        batch_op.create_index(
            "ragguard_quarantine_of_status", ["tenant", "status", "created_at", "seq"], unique=False
        )
        batch_op.create_index("ragguard_quarantine_until", ["until"], unique=False)

    op.create_table(
        "ragguard_scores",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scorer", sa.Text(), nullable=False),
        sa.Column("with_reference", sa.Boolean(), nullable=False),
        sa.Column("attacked", sa.Boolean(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("suspicions", sa.Text(), nullable=False),
        sa.Column("priority", sa.Double(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("naming", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_table(
        "ragguard_trail",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_table(
        "ragguard_verdicts",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("attacked", sa.Boolean(), nullable=False),
        sa.Column("p_value", sa.Double(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("passages", sa.Text(), nullable=False),
        sa.Column("calibration", sa.Text(), nullable=False),
        sa.Column("scorer", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("id"),
    )
    with op.batch_alter_table("ragguard_verdicts", schema=None) as batch_op:
        batch_op.create_index("ragguard_verdicts_by_tenant", ["tenant", "seq"], unique=False)
        batch_op.create_index("ragguard_verdicts_by_time", ["recorded_at", "seq"], unique=False)
