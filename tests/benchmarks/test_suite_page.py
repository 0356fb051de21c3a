import shutil
from html.parser import HTMLParser

import pytest

from benchmarks.cells import Cell, load_suite
from benchmarks.measuring import Place
from benchmarks.plugins import known
from benchmarks.report.figures import judged, sections_of, suite_tables
from benchmarks.report.page import page, roc
from benchmarks.suite_command import run, shown
from ragguard.attribution.text_model import Prices

SUITE = """
title = "A <tiny> page"
attacks = ["none", "poisonedrag_black"]
defences = ["none", "ragguard_3x"]
datasets = ["skerrin"]
readers = ["likelihood"]
planted = [1, 5]
questions = 2
"""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "tiny.toml").write_text(SUITE, encoding="utf-8")
    suite, place = load_suite(str(folder / "tiny.toml"), None), Place(None, folder)
    list(run(suite.cells, place))
    file = folder / "page.html"
    found = shown(suite, place)
    tables = list(suite_tables(found))
    file.write_text(page(suite.title, {"command": "run & see"}, found, tables), "utf-8")
    return file


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [(tag, name) for name, _ in attributes if name in ("src", "href", "data")]


def test_the_page_needs_nothing_beside_it(html):
    text = html.read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert links.found == []
    assert "A &lt;tiny&gt; page" in text
    assert "run &amp; see" in text
    assert text.count("class='heat'") == 4
    # Attack success and right answers, a line each with and without the guard; clean sets are too
    # few for a ROC.
    assert text.count("<polyline") == 4
    assert "Attack success by planted texts" in text
    assert "Right answers by planted texts" in text


def cell(attack, method="ragguard", k=5, room="defences"):
    planted = 0 if attack == "none" else 5
    reader = "likelihood" if room == "defences" else ""
    return Cell(attack, room, method, "skerrin", reader, k, planted, 0, 4, "built-in")


def row(number, p, **more):
    names = "planted poison poison_removed benign benign_removed golden golden_removed marked left"
    counts = dict.fromkeys(
        [*names.split(), "right", "attacked", "calls", "read", "written", "ms"], 0
    )
    return {"question": str(number), **counts, "p": p, **more}


def judged_cells(*cells):
    return judged({one.key: (one, rows, "") for one, rows in cells})


def page_of(*cells):
    return page("Charts", {}, judged_cells(*cells), [])


def test_the_gate_is_shown_at_every_threshold_and_marked_at_two():
    assert roc([0.5, 1.0], [0.01, 0.01]) == [(0.0, 0.0), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0)]
    clean = [row(n, p) for n, p in enumerate([0.03, 0.3, 0.6, 0.9])]
    # Half of the sets are found at 1 %, three of four at 5 %; a set without poison is none.
    p_values = [0.001, 0.009, 0.04, 0.7]
    attacked = [row(n, p, poison=1) for n, p in enumerate(p_values)] + [row(9, 0.001)]
    text = page_of((cell("none"), clean), (cell("tan"), attacked))
    assert "What the gate finds, and touches" in text
    assert "Tan et al.: 50% found at 1%" in text
    assert "Tan et al.: 75% found at 5%" in text
    # The preset of RAGDefender knows two p-values, which are no scale.
    flat = [row(n, float(n % 2)) for n in range(4)]
    flat_cells = [(cell(one, "ragdefender_paper"), flat) for one in ("none", "tan")]
    assert "What the gate finds" not in page_of(*flat_cells)


def test_of_many_defences_the_first_are_given_in_a_table_of_their_own():
    rows = [row(n, None) for n in range(2)]
    names = [name for name in known("defences") if not name.startswith("ragguard")][:9]
    cells = [(cell(attack, name), rows) for name in names for attack in ("none", "tan")]
    tables = {table.title: table for table in suite_tables(judged_cells(*cells))}
    short, full = (
        tables[f"Attack success / right answers{part}, % (likelihood, lexical, 5 planted, k = 5)"]
        for part in (" in short", "")
    )
    assert len(full.columns) == 2 + 9
    assert short.columns == full.columns[:8]
    assert [line[:8] for line in full.rows] == list(short.rows)
    few = judged_cells(*cells[:8])
    assert not any("in short" in table.title for table in suite_tables(few))


def test_what_is_known_is_told_by_the_same_questions_without_attack_or_defence():
    clean = [row(1, None, right=1), row(2, None)]
    attacked = [row(n, None, planted=5, poison=n % 2) for n in (1, 2)]
    undefended, one = judged_cells((cell("none", "none"), clean), (cell("tan"), attacked))
    assert [told["known"] for told in (*undefended.rows, *one.rows)] == [True, False] * 2
    (other,) = judged_cells((cell("tan", k=9), attacked))
    assert not any(told["known"] for told in other.rows)


def lines(title, *cells):
    where = "(likelihood, lexical, 5 planted, k = 5)"
    tables = {table.title: table for table in suite_tables(judged_cells(*cells))}
    found = tables.get(title) or tables[f"{title} {where}"]
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_what_a_defence_costs_is_counted_over_clean_traffic():
    times = [*range(1, 20), 400]
    clean = [
        row(n, None, ms=float(ms), read=ms, written=3, calls=n % 2) for n, ms in enumerate(times)
    ]
    attacked = [row(0, None, planted=5, ms=9000.0, read=9000, calls=9)]
    (line,) = lines("What a defence costs", (cell("none"), clean), (cell("tan"), attacked))
    assert line == {
        "defence": "ragguard",
        "reader": "likelihood, lexical",
        "k": "5",
        "questions": "20",
        "ms, p50": "10.50",
        "ms, p95": "38.05",  # a twentieth of the way from 19 to 400
        "answers asked for": "0.5",
        "tokens read": "30",  # 590 of 20 questions, halves to the even number
        "tokens written": "3",
    }
    (paid,) = lines("What honest users pay", (cell("none"), clean), (cell("tan"), attacked))
    priced = suite_tables(judged_cells((cell("none"), clean)), Prices(2.0, 10.0))
    (told,) = [table for table in priced if table.title == "What a defence costs"]
    # 1,000 questions of 29.5 tokens read at 2 and 3 written at 10 a million
    assert dict(zip(told.columns, *told.rows, strict=True))["price of 1,000 questions"] == "0.09"
    older = [{name: one[name] for name in one if name != "read"} for one in clean]
    (line,) = lines("What a defence costs", (cell("none"), older))
    assert (line["tokens read"], line["tokens written"]) == ("-", "3")
    assert (paid["questions"], paid["answers asked for"]) == ("20", "0.5")


def test_a_defence_is_judged_as_what_tells_planted_passages_from_others():
    clean = [row(n, None, benign=5, benign_removed=5) for n in range(2)]
    some = [
        row(0, None, planted=5, poison=4, poison_removed=3, benign=1, benign_removed=1),
        row(1, None, planted=5, benign=5),  # of what was planted nothing was retrieved
    ]
    cells = [(cell("none"), clean), *((cell(one), some) for one in ("tan", "hijackrag"))]
    (line,) = lines("Detection: DACC / FPR / FNR", *cells)
    assert line == {
        "defence": "ragguard",
        "questions": "2",
        "attacked sets": "4",
        "DACC": "80 % (60-100)",  # 8 of 10: the two questions have 3 and 5 of 5
        "FPR": "17 % (0-100)",
        "FNR": "25 % (25-25)",
    }


def test_attacks_on_one_question_are_drawn_together():
    rows = [row(n, None, planted=5, poison=1, attacked=n) for n in (0, 1)]
    cells = [(cell(one), rows) for one in ("tan", "hijackrag", "liar", "jamming")]
    (line,) = lines("Attack success under four conditions", *cells)
    assert (line["questions"], line["attacked sets"]) == ("2", "8")
    assert line["of all"] == line["poison retrieved"] == "50 % (0-100)"


def test_what_rows_are_told_is_not_kept_with_them():
    rows = [row(n, None, planted=5) for n in (0, 1)]
    kept = sections_of(judged_cells((cell("tan"), rows)))["suite_rows"]
    assert kept == [{"cell": 0, **one} for one in rows]


def test_cost_is_shown_where_there_are_several_k():
    slow = [row(n, 0.5, ms=ms) for n, ms in enumerate([1.0, 3.0, 50.0])]
    text = page_of((cell("none", k=5), slow), (cell("none", k=20), slow))
    assert "Cost against k" in text
    assert text.count("<title>ragguard: 3</title>") == 2  # the medians
    assert "Cost against k" not in page_of((cell("none"), slow))


def test_attribution_is_shown_as_in_ragorigins_tables():
    event = {
        "question": "1",
        "found": 3,
        "missed": 1,
        "wronged": 0,
        "spared": 4,
        "ms": 2,
        "calls": 0,
    }
    worse = {**event, "found": 1, "missed": 3}
    cells = [("ragorigin", [event]), ("text_keywords", [worse])]
    text = page_of(*((cell("tan", name, room="attributors"), rows) for name, rows in cells))
    assert "<td>DACC</td><td><b>0.88</b></td>" in text
    assert "<td>DACC</td><td>0.62</td>" in text
    assert text.count("<td>FPR</td><td><b>0.00</b></td>") == 2


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs chromium and chromedriver",
)
def test_a_browser_shows_the_page(html):
    pytest.importorskip("selenium", reason="needs selenium to drive a browser")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = Options()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(html.as_uri())
        assert driver.title == "A <tiny> page"
        cells = driver.find_elements(By.CSS_SELECTOR, "table.heatmap td.heat")
        assert len(cells) == 4
        assert all(cell.text.endswith("%") for cell in cells)
        assert driver.find_element(By.TAG_NAME, "svg").size["width"] > 0
        assert driver.get_log("browser") == []
    finally:
        driver.quit()
