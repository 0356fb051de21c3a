"""A guard that was made before a fork serves parent and child."""

import os

import pytest

from ragguard import Guard, Passage

QUESTION = "When does the ferry leave?"
ANSWER = "The ferry leaves at four."
POISON = f"{QUESTION} {ANSWER} It leaves at four."
PASSAGES = ["The ferry leaves at nine.", "Geese nest on the fort.", POISON, "The mill is old."]


def retrieve(query, k):
    return [Passage(text) for text in PASSAGES][:k]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_parent_and_child_report_and_attribute(tmp_path):
    def reported(guard, by):
        event = guard.report(QUESTION, ANSWER, passages=PASSAGES, reporter=by)
        return guard.attribution(event, timeout=30.0).cause

    with Guard(store=tmp_path / "audit.db", retrieve=retrieve) as guard:
        assert reported(guard, "ann") == "poisoning"
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, reported(guard, "bea").encode())
                guard.close()
                os.write(write, b", closed")
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read) as said:
            assert said.read() == "poisoning, closed"
        assert reported(guard, "cay") == "poisoning"
        assert len(guard.store.events()) == 3
