"""The names that other programs may rely on, their signatures, and what importing them costs."""

import importlib
import inspect
import json
import subprocess
import sys
from dataclasses import fields

import pytest

import ragguard
from ragguard import Evidence, Guard, Passage, Verdict, errors

EXPORTED = {
    "ragguard": ["Evidence", "Guard", "Passage", "Verdict", "__version__"],
    "ragguard.guard": ["Guard"],
    "ragguard.content": ["content_key"],
    "ragguard.passage": ["Passage", "as_passages", "text_digest"],
    "ragguard.verdict": ["Evidence", "Mode", "Verdict"],
    "ragguard.text": [
        "MAX_CHARS",
        "MOST_CHARS",
        "STOP_WORDS",
        "both_ends",
        "encodable",
        "fold",
        "fold_counted",
        "fold_whole",
        "has_function_words",
        "parted_words",
        "printable",
        "sentences",
        "split_words",
        "tokens",
        "tokens_counted",
        "tokens_whole",
    ],
    "ragguard.embedding": [
        "CachedEmbedder",
        "Embedder",
        "HashedEmbedder",
        "OnnxEmbedder",
        "QueryEmbedder",
        "SentenceTransformerEmbedder",
        "as_embedder",
    ],
}

# What the parts take from one another; they may come to export more.
AT_LEAST = {
    "ragguard.embedding.adapt": ["as_embedder", "unit_rows"],
    "ragguard.inline.conformal": ["Calibration"],
    "ragguard.inline.calibration_file": [
        "as_calibration",
        "default_calibration",
        "load_calibration",
        "save_calibration",
    ],
    "ragguard.inline.ragdefender.grouping": [
        "GroupingStrategy",
        "choose_strategy",
        "clustering_count",
        "concentration_count",
        "concentration_factors",
        "passages_with_top_terms",
        "tfidf_terms",
        "top_terms",
        "two_clusters",
    ],
    "ragguard.inline.ragdefender.isolation": [
        "frequency_scores",
        "isolate",
        "pair_count",
        "top_pairs",
    ],
    "ragguard.inline.pipeline": ["ConformalFilter"],
    "ragguard.inline.decision": ["Decision", "Gated", "Scored", "SetFilter", "Strategy"],
    "ragguard.inline.ragdefender": ["group_and_isolate"],
    "ragguard.inline.ragdefender.baseline": ["RAGDefenderFilter"],
    "ragguard.inline.explanations": ["CLEAN", "describe", "named"],
    "ragguard.inline.screening": ["Screened", "screened", "undecided"],
    "ragguard.embedding.vectors": ["similarity_matrix", "vectors"],
    "ragguard.inline.tokens": [
        "TokenizedPassage",
        "TokenizedQuery",
        "tokenize_passage",
        "tokenize_query",
    ],
    "ragguard.background.attribute_event": ["EventAttributor"],
    "ragguard.recent_passages": ["RecentPassages"],
    "ragguard.trust": ["Class", "Origin", "Trust", "as_trust", "source_of"],
    "ragguard.admission": ["Admission", "Base", "Scan", "admit", "as_base", "propose"],
    "ragguard.audit.verdict_counter": ["VerdictCounter"],
}


@pytest.mark.parametrize("module", EXPORTED)
def test_a_module_exports_exactly_these_names(module):
    loaded = importlib.import_module(module)
    assert sorted(loaded.__all__) == sorted(EXPORTED[module])
    assert all(hasattr(loaded, name) for name in loaded.__all__)


@pytest.mark.parametrize("module", AT_LEAST)
def test_a_module_exports_at_least_these_names(module):
    loaded = importlib.import_module(module)
    assert all(hasattr(loaded, name) for name in AT_LEAST[module])


def parameters(function):
    return {
        name: (parameter.kind.name, parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
    }


REQUIRED = inspect.Parameter.empty
POSITIONAL, KEYWORD = "POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY"
TENANT = {"tenant": (KEYWORD, None)}


def test_passage_takes_what_the_contract_says():
    assert parameters(Passage.__init__) == {
        "text": (POSITIONAL, REQUIRED),
        "id": (KEYWORD, None),
        "score": (KEYWORD, None),
        "embedding": (KEYWORD, None),
        "metadata": (KEYWORD, None),
    }


def test_guard_takes_what_the_contract_says():
    given = parameters(Guard.__init__)
    assert {kind for kind, _ in given.values()} == {KEYWORD}
    assert {name: default for name, (_, default) in given.items()} == {
        "embedder": None,
        "strategy": "auto",
        "alpha": 0.01,
        "store": None,
        "mode": "filter",
        "on_error": "pass",
        "calibration": None,
        "retrieve": None,
        "attributor": None,
        "proxy": None,
        "policy": None,
        "trust": None,
        "max_ms": 50.0,
        "mark_alpha": None,
        "on_verdict": None,
        "record_texts": False,
        "attribute": True,
    }


@pytest.mark.parametrize("method", [Guard.filter, Guard.afilter])
def test_filter_and_its_async_twin_take_the_same(method):
    assert parameters(method) == {
        "query": (POSITIONAL, REQUIRED),
        "passages": (POSITIONAL, REQUIRED),
        "k": (KEYWORD, None),
        **TENANT,
    }


def test_the_other_methods_of_the_guard_take_what_the_contract_says():
    assert parameters(Guard.calibrate) == {
        "traffic": (POSITIONAL, REQUIRED),
        "k": (KEYWORD, None),
        "force": (KEYWORD, False),
    }
    assert parameters(Guard.calibrate_from_store) == {
        "newest": (KEYWORD, None),
        "clean_looking": (KEYWORD, False),
        "force": (KEYWORD, False),
    }
    assert parameters(Guard.save_calibration) == {"path": (POSITIONAL, REQUIRED)}
    assert parameters(Guard.report) == {
        "query": (POSITIONAL, REQUIRED),
        "response": (POSITIONAL, REQUIRED),
        "passages": (KEYWORD, None),
        "reporter": (KEYWORD, None),
        "wait": (KEYWORD, False),
        **TENANT,
    }
    assert parameters(Guard.attribution) == {
        "event_id": (POSITIONAL, REQUIRED),
        "timeout": (POSITIONAL, None),
        **TENANT,
    }
    for decide in (Guard.confirm, Guard.reject, Guard.release):
        taken = {"target": (POSITIONAL, REQUIRED), "why": (KEYWORD, None)}
        assert parameters(decide) == {**taken, "actor": (KEYWORD, None), **TENANT}
    for vouch in (Guard.allow, Guard.protect):
        assert parameters(vouch) == {
            "passage_or_source": (POSITIONAL, REQUIRED),
            "why": (KEYWORD, REQUIRED),
            "until": (KEYWORD, None),
            "actor": (KEYWORD, None),
            **TENANT,
        }
    assert parameters(Guard.disallow) == {
        "passage_or_source": (POSITIONAL, REQUIRED),
        "why": (KEYWORD, None),
        "actor": (KEYWORD, None),
        **TENANT,
    }
    assert parameters(Guard.allowed) == parameters(Guard.proposals) == TENANT
    assert parameters(Guard.close) == {}
    assert parameters(Guard.undo) == dict.fromkeys(
        ("event", "reporter", "since", "why", "actor", "tenant"), (KEYWORD, None)
    )


def test_every_coroutine_has_a_twin_that_takes_the_same():
    public = {name: getattr(Guard, name) for name in dir(Guard) if not name.startswith("_")}
    coroutines = [name for name in public if inspect.iscoroutinefunction(public[name])]
    assert "afilter" in coroutines
    for name in coroutines:
        assert parameters(public[name]) == parameters(public[name.removeprefix("a")])


def test_verdict_and_evidence_hold_what_the_contract_says():
    assert [field.name for field in fields(Verdict)] == [
        "kept",
        "dropped",
        "attacked",
        "p_value",
        "evidence",
        "mode",
        "error",
        "marked",
        "id",
    ]
    assert [field.name for field in fields(Evidence)] == [
        "passage_id",
        "signal",
        "strength",
        "reason",
        "signals",
        "suspicion",
        "flagged",
        "decided",
        "marked",
    ]


def test_every_error_is_in_one_tree_and_derives_from_the_builtin_a_caller_expects():
    builtin = {
        "InvalidInputError": ValueError,
        "JudgingError": RuntimeError,
        "EmbeddingError": ValueError,
        "CalibrationError": ValueError,
        "MissingExtraError": ImportError,
        "StoreError": RuntimeError,
        "EventLostError": LookupError,
        "EventNotFoundError": LookupError,
        "AllowanceNotFoundError": LookupError,
        "QuarantineNotFoundError": LookupError,
        "VerdictNotFoundError": LookupError,
        "AttributionPendingError": RuntimeError,
        "AttributionTimeoutError": TimeoutError,
        "EventFailedError": RuntimeError,
        "ProxyError": RuntimeError,
        "GenerationError": RuntimeError,
        "RetrievalError": RuntimeError,
    }
    classes = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert {*builtin, "RagguardError"} == classes
    for name, base in builtin.items():
        assert issubclass(getattr(errors, name), errors.RagguardError)
        assert issubclass(getattr(errors, name), base)


def test_a_missing_extra_says_what_to_install():
    error = errors.MissingExtraError("OnnxEmbedder", "onnx")
    assert "OnnxEmbedder" in str(error)
    assert "pip install '.[onnx]'" in str(error)


def test_the_version_is_a_string_of_numbers():
    assert [part.isdigit() for part in ragguard.__version__.split(".")[:2]] == [True, True]


HEAVY = (
    "torch transformers sentence_transformers sqlalchemy scipy sklearn onnx onnxruntime tokenizers "
    "pandas typer rich langchain langchain_core llama_index faiss chromadb celery requests httpx "
    "pytest hypothesis"
).split()

FILTER_ONE_CLEAN_SET = (
    "ragguard.Guard().filter('Who built the pier?', "
    "['The harbour froze in 1902.', 'Wool was sold on Mondays.', 'A mill stood by the ford.'])"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "loaded"),
    # A guard loads what clustering needs when it is made, so that no query has to.
    [("None", []), (FILTER_ONE_CLEAN_SET, ["scipy"])],
    ids=["import", "filter"],
)
def test_nothing_heavy_is_imported(then, loaded):
    program = (
        f"import json, sys, ragguard; {then}; "
        f"print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}} & {set(HEAVY)})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) == loaded


NOT_FOR_A_FILTER = (
    "ragguard.attribution ragguard.knowledge ragguard.proxy ragguard.cli ragguard.demo "
    "ragguard.explain ragguard.repair ragguard.audit.sql"
).split()


@pytest.mark.slow
def test_a_guard_that_filters_loads_no_attribution_method_and_no_knowledge_base():
    program = f"import sys, ragguard; {FILTER_ONE_CLEAN_SET}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    unneeded = {name for name in done.stdout.split() if name.startswith(tuple(NOT_FOR_A_FILTER))}
    # Only what an attribution is: the package itself, and the form of its result.
    assert unneeded == {"ragguard.attribution", "ragguard.attribution.result"}
