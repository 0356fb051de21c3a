"""The first query finds everything in memory: it imports nothing and opens no file."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, json, sys
from ragguard import Guard

question = "When was the lighthouse of Marrow Bay built?"
texts = [f"{question} It was built in 19{year} by the crown." for year in (11, 12, 13)]
texts += ["Wool was sold on Mondays by the church.", "A mill stood by the ford."]
pairs = [("Who fed the geese?", texts[3:]), (question, texts)]
touched, watching = [], False

def watch(event, arguments):
    if watching and event in ("import", "open", "os.listdir", "os.scandir"):
        touched.append(f"{event} {arguments[0]}")

async def first_query():
    global watching
    guard = %s
    known, watching = set(sys.modules), True
    found = %s
    verdict = found[-1] if isinstance(found, list) else found
    flagged = any(evidence.flagged for evidence in verdict.evidence)
    watching = False
    print(json.dumps([verdict.attacked, flagged, touched, sorted(set(sys.modules) - known)]))
    guard.close()

sys.addaudithook(watch)
asyncio.run(first_query())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ("Guard()", "guard.filter(question, texts)"),
        ("Guard()", "guard.filter_batch(pairs)"),
        ("Guard()", "await guard.afilter(question, texts)"),
        ("Guard()", "await guard.afilter_batch(pairs)"),
        ("Guard(strategy='clustering')", "guard.filter(question, texts, k=4)"),
        ("Guard(strategy='concentration')", "guard.filter(question, texts)"),
        ("Guard.ragdefender()", "guard.filter(question, texts)"),
    ],
)
def test_the_first_attacked_query_imports_nothing_and_opens_no_file(made, asked):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % (made, asked)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(done.stdout) == [True, True, [], []]


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["pipeline.ConformalFilter", "ragdefender.RAGDefenderFilter"])
def test_a_judge_that_never_clusters_loads_no_scipy(judge):
    program = (
        "import sys\n"
        "from ragguard.embedding import HashedEmbedder\n"
        "from ragguard.inline import pipeline\n"
        "from ragguard.inline.ragdefender import baseline as ragdefender\n"
        f"{judge}(HashedEmbedder(), strategy='concentration')\n"
        "assert 'scipy' not in sys.modules\n"
        f"{judge}(HashedEmbedder())\n"
        "assert 'scipy.cluster.hierarchy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
