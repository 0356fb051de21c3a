"""The review page without a browser: somebody who logs in, reads pages and presses buttons."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs the extra review")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")
pytest.importorskip("jinja2", reason="needs the extra review")

from starlette.testclient import TestClient

from ragguard.review.access import Access
from ragguard.review.app import review_app
from ragguard.review.knowledge import Knowledge
from ragguard.review.request import Settings

TOKEN = "a token of some length"


class Reader(HTMLParser):
    """Collects tags, attributes, the fields of forms and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.forms: list[dict] = []
        self.words = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        given = dict(attrs)
        if tag == "form":
            self.forms.append({"action": given.get("action", ""), "fields": [], "do": []})
        elif tag == "input" and given.get("name"):
            self.forms[-1]["fields"].append((given["name"], given.get("value", "")))
        elif tag == "button" and given.get("name") == "do":
            self.forms[-1]["do"].append(given["value"])

    def handle_data(self, data):
        self.words += data


def read(response) -> Reader:
    reader = Reader()
    reader.feed(response.text)
    return reader


def press(client, address, do, why="seen with my own eyes", **fields):
    """Press a button of the first form that has it, with all of its fields as they are."""
    page = read(client.get(address))
    form = next(form for form in page.forms if do in form["do"])
    sent = [pair for pair in form["fields"] if pair[0] not in {"why", *fields}]
    sent += [("why", why), ("do", do)]
    for name, value in fields.items():
        sent += [(name, one) for one in ([value] if isinstance(value, str) else value)]
    body = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sent)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    return client.post(form["action"], content=body, headers=kind)


def browser(store, base=None, *, name="ann", tenant="", only=None):
    """A browser of somebody who is logged in, on a page with this knowledge base."""
    settings = Settings(knowledge=None if base is None else Knowledge(base, tenant))
    app = review_app(store, Access(TOKEN), settings=settings, tenant=only)
    client = TestClient(app, follow_redirects=False)
    assert client.post("/login", data={"name": name, "token": TOKEN}).status_code == 303
    return client
