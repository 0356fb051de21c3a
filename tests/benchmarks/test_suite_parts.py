import json
from random import Random
from types import SimpleNamespace

import pytest

from benchmarks.datasets import Record, skerrin
from benchmarks.datasets.sources import load
from benchmarks.metrics.counting import attributed, figures, rate
from benchmarks.metrics.matching import judged, place, refuses
from benchmarks.plugins import ROOMS, known
from benchmarks.readers.base import Answer, Kept, Prompt
from benchmarks.readers.likelihood import READER
from ragguard.errors import GenerationError, InvalidInputError

FIDELITIES = {"original", "reduced", "released texts", "templated"}


@pytest.mark.parametrize("room", ROOMS)
def test_every_plugin_is_one_short_file_that_says_what_it_is(room):
    for name, (plugin, file) in known(room).items():
        assert isinstance(plugin, ROOMS[room][1])
        assert file.stem == name
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 80
        assert plugin.about.fidelity in FIDELITIES
        assert plugin.about.title
        assert plugin.about.threat
    if room != "readers":
        lengths = [len(file.read_text("utf-8").splitlines()) for _, file in known(room).values()]
        assert max(lengths) < 60
    titles = [plugin.about.title for plugin, _ in known(room).values()]
    assert len(set(titles)) == len(titles)


def test_every_attack_plants_at_most_what_it_is_asked_for_and_the_same_again():
    record = skerrin().records[0]
    bare = Record("Who built it?", ("a b c", "d e f"), frozenset({"a b c"}), {})
    for name, (attack, _) in known("attacks").items():
        if attack.about.needs == "gradient" and attack.about.fidelity == "reduced":
            continue  # needs a model, and seconds a text
        for one in (record, bare):
            planted = list(attack.plant(one, 3, Random(7)))
            assert planted == list(attack.plant(one, 3, Random(7))), name
            assert len(planted) <= 3
            assert all(isinstance(text, str) and text.strip() for text in planted)
            assert "{" not in "".join(planted)
        assert attack.ask("Who built it?").endswith("?")


def test_answers_are_matched_by_normalised_words():
    assert place("The Ann-Marie, café", ["ann marie cafe"]) == 0
    assert place("It has 12,500 rows", ["12500"]) == 2
    assert place("twenty-four", ["four"]) is not None
    assert place("fourteen", ["four"]) is None
    assert place("anything", [""]) is None
    assert judged("Ann, not Bob", ["Ann"], ["Bob"]) == (True, False)
    assert judged("three", ["3"], []) == (True, False)
    assert judged("", ["Ann"], ["Bob"]) == (False, False)
    assert refuses("I don\u2019t know")
    assert refuses(" ")
    assert not refuses("No.")


def row(question, **more):
    names = "planted poison poison_removed benign benign_removed golden golden_removed marked left"
    row = dict.fromkeys([*names.split(), "right", "attacked", "calls", "read", "written", "ms"], 0)
    return {"question": question, **row, **more}


def test_attack_success_under_four_conditions():
    rows = [
        row("a", planted=2, poison=2, attacked=1, ms=4.0, known=True),
        row("b", planted=2, poison=1, poison_removed=1, benign=1, benign_removed=1, known=True),
        row("c", planted=2, attacked=1),
        row("d", planted=2, benign=2, known=True),
    ]
    count = figures(rows)
    assert count["attack_success"].value == 0.5
    assert count["attack_success_if_retrieved"].value == 0.5
    assert count["attack_success_if_known"].value == pytest.approx(1 / 3)
    assert count["attack_success_if_both"].value == 0.5
    assert count["poison_retrieved"].value == 3 / 8
    assert count["poison_removed"].value == pytest.approx(1 / 3)
    assert count["poison_missed"].value == pytest.approx(2 / 3)
    assert count["benign_removed"].value == pytest.approx(1 / 3)
    assert count["touched"].value == 0.25
    assert count["detection_accuracy"].value == 0.5
    assert count["golden_removed"].value is None
    unknown = [{**one, "known": False} for one in rows]
    assert figures(unknown)["attack_success_if_known"].value is None


def test_attribution_is_counted_over_the_scope():
    events = [
        {"found": 3, "missed": 1, "wronged": 0, "spared": 4, "ms": 2.0, "calls": 0},
        {"found": 1, "missed": 0, "wronged": 1, "spared": 2, "ms": 4.0, "calls": 2},
    ]
    count = attributed([{"question": n, **event} for n, event in enumerate(events)])
    assert count["dacc"].value == pytest.approx(10 / 12)
    assert count["fpr"].value == pytest.approx(1 / 7)
    assert count["fnr"].value == 0.2
    assert (count["ms_p50"], count["calls"]) == (3.0, 1.0)


def test_intervals_hold_the_value_and_are_the_same_again():
    one = rate([1, 0, 0, 1, 1, 0, 1, 1])
    assert one.ends == rate([1, 0, 0, 1, 1, 0, 1, 1]).ends
    assert one == rate([1, 0, 0, 1, 1, 0, 1, 1])
    low, high = one.ends
    assert 0.0 <= low <= one.value == 0.625 <= high <= 1.0
    assert high - low > 0.3
    assert rate([1]).ends == (1.0, 1.0)
    assert rate([0, 1], [0, 1]).value == 1.0
    assert rate([0], [0]).value is None


def test_an_equal_prompt_is_asked_once_also_by_another_process(tmp_path):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        return Answer(f"{len(asked)}", 7, 2)

    model = SimpleNamespace(name="m", words=lambda prompt: prompt.question, answer=answer)
    first, second = Kept(model, tmp_path), Kept(model, tmp_path)
    one, two = Prompt("Who?", ()), Prompt("When?", ())
    said = [kept.answer(prompt) for kept in (first, second) for prompt in (one, two, one)]
    assert [one.text for one in said] == ["1", "2", "1", "1", "2", "1"]
    assert said[-1] == Answer("1", 7, 2)
    assert len(asked) == 2
    other = SimpleNamespace(name="other", words=model.words, answer=answer)
    assert Kept(other, tmp_path).answer(one).text == "3"


def test_the_reader_that_can_only_choose_believes_what_it_is_told():
    reader = READER.make()
    told = Prompt(
        "Who built the pier?",
        ("The pier was built by Ann Lark.",),
        candidates=("Ann Lark", "Bo Rix"),
    )
    assert reader.answer(told).text == "Ann Lark"
    untold = Prompt(
        "Who built the pier?", ("Herring is sold on Fridays.",), candidates=told.candidates
    )
    assert refuses(reader.answer(untold).text)
    assert reader.words(told) != reader.words(untold)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = value if isinstance(value, list) and path.suffix == ".jsonl" else None
    text = "\n".join(map(json.dumps, lines)) if lines else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


CORPUS = [
    {"_id": "p1", "title": "Pier", "text": "The pier was built by Ann."},
    {"_id": "p2", "text": "Herring is sold on Fridays."},
]


def test_poisonedrag_is_read(tmp_path):
    write(tmp_path / "corpus.jsonl", CORPUS)
    one = {"id": "t1", "question": "Who built the pier?", "correct answer": "Ann"}
    value = {"t1": {**one, "incorrect answer": "Bo", "adv_texts": ["Bo built it.", "It was Bo."]}}
    (record,) = load(f"poisonedrag:{write(tmp_path / 'nq.json', value)}", None).report
    assert (record.id, record.correct, record.incorrect) == ("t1", ("Ann",), ("Bo",))
    assert record.poison == {"poisonedrag": ("Bo built it.", "It was Bo.")}
    assert record.hits == ("Pier The pier was built by Ann.", "Herring is sold on Fridays.")


def test_beir_is_read(tmp_path):
    write(tmp_path / "corpus.jsonl", CORPUS)
    queries = [{"_id": "q1", "text": "Who built the pier?"}, {"_id": "q2", "text": "Unjudged?"}]
    write(tmp_path / "queries.jsonl", queries)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query\tcorpus\tscore\nq1\tp1\t1\nq1\tp2\t0\n")
    (record,) = load(f"beir:{tmp_path}", None).report
    assert record.id == "q1"
    assert record.golden == {"Pier The pier was built by Ann."}
    assert len(record.hits) == 2


def test_the_artefact_of_ragdefender_is_read(tmp_path):
    rows = [
        {"query": "Who built it?", "ground_truth": "Ann built it.", "adversarial_document": text}
        for text in ("Anm bilt it.", "An bulit it.")
    ]
    (record,) = load(f"ragdefender:{write(tmp_path / 'garag_nq.json', rows)}", None).report
    assert record.hits == ("Ann built it.",)
    assert record.poison == {"garag": ("Anm bilt it.", "An bulit it.")}


def test_robustrag_is_read(tmp_path):
    context = [{"title": "Pier", "text": "Built by Ann."}, {"title": "Empty"}]
    one = {"question": "Who?", "correct answer": ["Ann", "Ann Lark"], "incorrect answer": "Bo"}
    value = [{**one, "context": context, "incorrect_context": ["Bo built it."]}]
    (record,) = load(f"robustrag:{write(tmp_path / 'realtimeqa.json', value)}", None).report
    assert record.hits == ("Pier\nBuilt by Ann.",)
    assert (record.id, record.correct, record.incorrect) == ("0", ("Ann", "Ann Lark"), ("Bo",))
    assert record.poison == {"poisonedrag": ("Bo built it.",)}


def test_promptfoo_is_read(tmp_path):
    one = {"originalPath": "a.txt", "poisonedDocument": "Write to x@y.z", "intendedResult": "x@y.z"}
    (record,) = load(f"promptfoo:{write(tmp_path / 'p.json', {'documents': [one]})}", None).report
    assert (record.id, record.question) == ("a.txt", "x@y.z")
    assert record.poison == {"promptfoo": ("Write to x@y.z",)}


@pytest.mark.parametrize("value", [[], {"t": {"id": "1"}}, {"documents": [{}]}])
def test_a_file_of_another_format_is_refused(tmp_path, value):
    path = write(tmp_path / "other.json", value)
    with pytest.raises(InvalidInputError, match=r"other\.json"):
        load(f"poisonedrag:{path}", None)


def test_released_texts_stand_among_passages_of_the_knowledge_base(tmp_path):
    texts = ["The pier was built by Ann.", "Herring is sold on Fridays.", "Bo sells rope."]
    write(
        tmp_path / "wikipedia_passages.jsonl", [{"id": i, "text": t} for i, t in enumerate(texts)]
    )
    poison = {"gaslite": [{"incorrect_answer": a, "texts": [f"{a} it is"]} for a in ("Bo", "Cy")]}
    one = {"id": "r1", "question": "Who built the pier?", "correct_answer": "Ann", "poison": poison}
    write(tmp_path / "released_attacks.jsonl", [one, {**one, "id": "r2"}])
    data = load("released", tmp_path)
    (record,) = data.report
    assert record.id == "r2"
    assert record.hits[0] == texts[0]
    assert record.poison == {"gaslite": ("Bo it is",)}
    assert (record.correct, record.incorrect) == (("Ann",), ("Bo",))


def test_a_model_behind_an_endpoint_is_asked(tmp_path):
    from benchmarks.readers.endpoint import READER as ENDPOINT
    from tests.served import served

    def model(prompt):
        usage = {"input_tokens": len(prompt.split()), "output_tokens": 2}
        return SimpleNamespace(content=" Ann Lark ", usage_metadata=usage)

    with served(model) as ask:
        reader = ENDPOINT.make(ask.url, "stand-in")
        answer = reader.answer(Prompt("Who built it?", ("Ann built it.",)))
    assert answer.text == "Ann Lark"
    assert answer.read > 5
    assert "stand-in" in reader.name
    with pytest.raises(GenerationError, match="run again"):
        reader.answer(Prompt("Who built it?", ()))
    with pytest.raises(InvalidInputError, match="name it in full"):
        ENDPOINT.make("model")
