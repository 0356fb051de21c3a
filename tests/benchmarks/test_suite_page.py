import shutil
from html.parser import HTMLParser

import pytest

from benchmarks.cells import load_suite
from benchmarks.measuring import Place
from benchmarks.report.figures import shown
from benchmarks.report.page import page
from benchmarks.running import run

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
    run(suite.cells, place)
    file = folder / "page.html"
    file.write_text(page(suite.title, {"command": "run & see"}, shown(suite, place)), "utf-8")
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
    assert text.count("<polyline") == 2


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
