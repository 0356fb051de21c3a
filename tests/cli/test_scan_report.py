from __future__ import annotations

import io
from html.parser import HTMLParser

from ragguard import Passage
from ragguard.admission import Admission
from ragguard.cli.scan import SHOWN, write_report

HOSTILE = '</td></table><script>alert("x")</script><img src=x onerror=y> \u202e\ud800\x1b[2J & "q"'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def written(*pairs, title="kb.jsonl"):
    file = io.StringIO()
    write_report(file, title, {"refused": len(pairs)}, pairs)
    return file.getvalue()


def test_texts_ids_reasons_and_names_are_shown_as_text():
    found = (Admission(HOSTILE, "refused", 0.0004, (HOSTILE,)), Passage(HOSTILE, id=HOSTILE))
    html = written(found, title=HOSTILE)
    tags = Tags()
    tags.feed(html)
    assert {tag for tag, _ in tags.found}.isdisjoint({"script", "img"})
    assert not any(name.startswith("on") for _, attrs in tags.found for name in attrs)
    assert "&lt;script&gt;" in html
    html.encode("utf-8")  # no surrogate is left


def test_it_loads_nothing():
    html = written((Admission("a", "review", 0.004), Passage("text", id="a")))
    assert "default-src 'none'" in html
    assert "http://" not in html
    assert "https://" not in html


def test_long_texts_are_cut():
    html = written((Admission("a", "refused", 0.0004), Passage("w " * 5_000, id="a")))
    assert len(html) < 3_000 + SHOWN
    assert html.count("...") == 1
