"""Makes what a release leaves behind for the tests: its schema's script, and a database of it.

    python tests/audit/released/make.py

Before the first release, whenever the models change: the script of the first tables is made anew
from the models (`tables/v0_1_0.py` beside this file: no package needs it, since nothing leads to
the first release), and so is the database (`0.1.0.db`). Once a release is out its script and its
database stay as they are, and `--next 0.2.0` makes the script in `ragguard/audit/migrations` that
leads from them to the models of today, to be read and corrected by hand; then this command, once
more without it, makes the database of that schema.
"""

import argparse
import math
import os
import runpy
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import False_, NullPool, create_engine
from sqlalchemy.types import TypeDecorator

from ragguard import Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, QuarantineEntry, ScoredQuery, open_store, trail, trail_check
from ragguard.audit.allow_list import Allowance
from ragguard.audit.quarantine import Limits
from ragguard.audit.records import Answer
from ragguard.audit.schema import HEAD, alembic_config
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord
from ragguard.content import content_key

HERE = Path(__file__).parent
TABLES = HERE / "tables" / "v0_1_0.py"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PASSAGE = Passage("Mar\u00eda Dove built it. \ud800\x00", id="x", score=0.5, metadata={"page": 3})
KEY = content_key(PASSAGE.text)


def fill(store):
    """Put a row into every table."""
    store.add_event(Event("done", "Who?", "Dove.", (PASSAGE,), "ann", created_at=NOON))
    store.add_event(Event("open", "When?", "1921.", created_at=NOON))
    score = PassageScore(PASSAGE, 0.9, -1.0, -2.0, 1.5, responsible=True)
    found = Attribution("Who?", "Dove.", "ragorigin", [PASSAGE], [score], 1, "poisoning", "so")
    store.finish_event("done", found)
    entry = QuarantineEntry(KEY, "x", PASSAGE.text, "so", "done", reporters=("ann",))
    store.accuse([entry], Limits())
    store.set_quarantine_status(KEY, "confirmed", actor="bo")
    store.allow(Allowance(content_key("handbook"), "handbook", "allowed", "ours", actor="bo"))
    judged = JudgedPassage("x", KEY, "dropped", "quarantine", 1.0, 9.0, "so")
    about = {"calibration": "shipped", "scorer": "s", "version": "0", "recorded_at": NOON}
    verdict = VerdictRecord(
        "v", "q", True, 0.01, "filter", None, size=2, kept=1, passages=(judged,), **about
    )
    store.add_verdicts([verdict], keep=10, days=36_500.0)
    store.add_counts({"queries": 3})
    # As of a day to come: what is old is forgotten.
    store.add_answer(Answer("0" * 32, frozenset({"1" * 16}), NOON + timedelta(days=36_500)))
    acme = store.of_tenant("acme")
    acme.add_quarantine([QuarantineEntry(KEY, "x", PASSAGE.text, "so")])
    acme.allow(Allowance(content_key("handbook"), "handbook", "protected", "ours", actor="bo"))
    scored = ScoredQuery(1.5, (1.5, 0.25), False, True, "s", NOON, question="0123456789abcdef")
    store.add_scores([scored], sample=1, recent=1)


def check(store):
    """Compare what a store says with what `fill` has put there."""
    event, entry = store.event("done"), store.quarantine()[0]
    assert (event.passages, event.status, event.reporter) == ((PASSAGE,), "done", "ann")
    assert store.event("open").status == "pending"
    assert store.attribution("done").responsible == [PASSAGE]
    assert (entry.text, entry.status, entry.actor) == (PASSAGE.text, "confirmed", "bo")
    assert entry.reporters == ("ann",)
    assert store.quarantine_keys() == {KEY}
    assert store.quarantine_changes(-1).allowed.sources == {"handbook": math.inf}
    assert [one.why for one in store.allowances()] == ["ours"]
    assert [one.passages[0].key for one in store.verdicts()] == [KEY]
    assert store.counts() == {"queries": 3}
    assert trail_check.check(store, trail.Keys()).findings == ()
    assert [one.suspicions for one in store.scores()] == [(1.5, 0.25)]


def database(path):
    """Write the database of today's schema, as one file."""
    for old in HERE.glob(f"{path.name}*"):
        old.unlink()
    for name in (trail.KEY, trail.KEY_FILE):
        os.environ.pop(name, None)
    store = open_store(path)
    fill(store)
    store.close()
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    engine.dispose()


def script(release):
    """Write the script that leads from the schema before to the models of today."""
    config = alembic_config()
    config.attributes["render_item"] = as_stored
    if first := release == "0.1.0":
        config.set_main_option("version_locations", str(TABLES.parent))
        path = TABLES
    else:
        known = ScriptDirectory.from_config(config)
        path = Path(known.dir) / "versions" / f"v{release.replace('.', '_')}.py"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/empty.db", poolclass=NullPool)
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            if not first:
                first_tables(connection)
            command.upgrade(config, "head")
            config.set_main_option("file_template", path.stem)
            command.revision(
                config,
                rev_id=release,
                autogenerate=True,
                version_path=str(path.parent),
            )
        engine.dispose()
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "# ###" not in line))
    for order in (["format", "--quiet"], ["check", "--quiet", "--fix"]):
        subprocess.run([sys.executable, "-m", "ruff", *order, str(path)], check=True)


def first_tables(connection):
    """Make the tables of the first release, as they were."""
    script = runpy.run_path(str(TABLES))
    with Operations.context(MigrationContext.configure(connection)):
        script["upgrade"]()


def as_stored(kind, item, context):
    """Render a column's type as every database has it, which no later change of ours changes."""
    if kind == "server_default" and isinstance(item.arg, False_):
        return "sa.false()"
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{item.impl!r}"
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--next", metavar="RELEASE", help="write the script of a new schema only")
    wanted = parser.parse_args().next
    if wanted or HEAD == "0.1.0":
        script(wanted or HEAD)
    if not wanted:
        database(HERE / f"{HEAD}.db")
