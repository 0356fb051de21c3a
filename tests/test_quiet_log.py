import logging

from ragguard import quiet_log
from ragguard.quiet_log import QuietLog


def test_a_burst_then_a_line_a_second(monkeypatch, caplog):
    now = [100.0]
    monkeypatch.setattr(quiet_log.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, "ragguard.quiet")
    lines = QuietLog(logging.getLogger("ragguard.quiet"), burst=3)
    for number in range(10):
        lines.info("line %d", number)
    assert [one.getMessage() for one in caplog.records] == ["line 0", "line 1", "line 2"]
    now[0] += 1.0
    lines.info("line %d", 10)
    lines.info("line %d", 11)
    assert caplog.records[-1].getMessage() == "line 10 (7 such lines before it were left out)"
    now[0] += 60.0
    for number in range(12, 20):
        lines.info("line %d", number)
    assert len(caplog.records) == 7
    assert caplog.records[4].getMessage() == "line 12 (1 such lines before it were left out)"


def test_where_nobody_reads_nothing_is_counted(caplog):
    caplog.set_level(logging.WARNING, "ragguard.quiet")
    lines = QuietLog(logging.getLogger("ragguard.quiet"), burst=1)
    for _ in range(5):
        lines.info("line")
    assert not lines.is_read
    caplog.set_level(logging.INFO, "ragguard.quiet")
    lines.info("line")
    assert [one.getMessage() for one in caplog.records] == ["line"]
