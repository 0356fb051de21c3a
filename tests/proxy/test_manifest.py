"""The manifest of an exported proxy: what it must say before any file is believed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.errors import ProxyError
from ragguard.proxy.manifest import Manifest, PromptFormat, read_tokenizer, sha256_of

FILES = ("model.onnx", "tokenizer.json")


def exported(folder):
    """Write a folder as an export leaves it, and return its manifest."""
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(f"what is in {name}")
    manifest = Manifest(
        architecture="LlamaForCausalLM",
        precision="fp32",
        source="weights of hf",
        opset=18,
        max_length=200,
        vocabulary_size=300,
        prompt=PromptFormat(),
        files={name: sha256_of(folder / name) for name in FILES},
        versions={"torch": "2.6"},
        parity={"max_token_error": 1e-4, "same_blame": None},
    )
    manifest.write(folder)
    return manifest


@pytest.fixture
def folder(tmp_path):
    exported(tmp_path / "proxy")
    return tmp_path / "proxy"


def rewrite(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def files_of(folder):
    return json.loads((folder / "manifest.json").read_text())["files"]


def test_a_whole_folder_is_read(tmp_path):
    written = exported(tmp_path / "proxy")
    assert Manifest.read(tmp_path / "proxy") == written


def test_a_changed_file_is_noticed(folder):
    (folder / "tokenizer.json").write_text("another")
    with pytest.raises(ProxyError, match=r"tokenizer\.json is missing or is not the file"):
        Manifest.read(folder)


def test_an_earlier_manifest_says_nothing_of_gains(folder):
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    del fields["gain_power"]
    path.write_text(json.dumps(fields))
    assert Manifest.read(folder).gain_power == 1.0


@pytest.mark.parametrize("power", [0, 1.5, "0.4", None, True])
def test_a_power_of_gains_out_of_range(folder, power):
    rewrite(folder, gain_power=power)
    with pytest.raises(ProxyError, match="gain_power is not in"):
        Manifest.read(folder)


def test_a_manifest_that_lists_no_files_vouches_for_none(folder):
    rewrite(folder, files={})
    with pytest.raises(ProxyError, match=r"does not vouch for model\.onnx and tokenizer\.json"):
        Manifest.read(folder)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_each_file_must_be_listed(folder, missing):
    rewrite(folder, files={n: d for n, d in files_of(folder).items() if n != missing})
    with pytest.raises(ProxyError, match="does not vouch"):
        Manifest.read(folder)


@pytest.mark.parametrize("name", ["../secret", "sub/model.onnx", "notes.txt", "", "manifest.json"])
def test_no_other_file_is_opened(folder, name, monkeypatch):
    (folder.parent / "secret").write_text("secret")
    rewrite(folder, files={**files_of(folder), name: "0" * 64})
    monkeypatch.setattr(
        "ragguard.proxy.manifest.sha256_of", lambda path: pytest.fail(f"{path} was opened")
    )
    with pytest.raises(ProxyError, match="does not vouch"):
        Manifest.read(folder)


def test_weights_beside_the_graph_must_be_listed(folder):
    (folder / "model.onnx.data").write_text("weights")
    with pytest.raises(ProxyError, match="does not vouch"):
        Manifest.read(folder)
    data = sha256_of(folder / "model.onnx.data")
    rewrite(folder, files={**files_of(folder), "model.onnx.data": data})
    assert len(Manifest.read(folder).files) == 3
    (folder / "model.onnx.data").unlink()
    with pytest.raises(ProxyError, match="does not vouch"):
        Manifest.read(folder)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[" * 100_000,
        '{"format":' * 100_000,
        "[]",
        "null",
        "{}",
        "1",
        "1" * 5000,
        '"ragguard-proxy/1"',
        '{"format": "other/1"}',
        '{"format": ["ragguard-proxy/1"]}',
        '{"format": "ragguard-proxy/1", "prompt": []}',
        "\ud800",
    ],
    ids=range(14),
)
def test_what_is_no_manifest_is_a_proxy_error(folder, text):
    (folder / "manifest.json").unlink()
    if text is not None:
        (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ProxyError, match=r"manifest\.json cannot be read \(.+\); export the model"):
        Manifest.read(folder)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = [
    *("architecture", "source", "precision", "opset", "max_length", "vocabulary_size"),
    *("prompt", "files", "versions", "parity", "format", "other"),
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=2))
def test_any_change_is_read_or_is_a_proxy_error(tmp_path_factory, changes):
    made = tmp_path_factory.mktemp("manifest") / "proxy"
    whole = exported(made)
    rewrite(made, **changes)
    try:
        manifest = Manifest.read(made)
    except ProxyError:
        return
    assert manifest.files == whole.files
    assert type(manifest.max_length) is int


@pytest.mark.parametrize("content", [None, "{", "\x00"])
def test_a_damaged_tokenizer_is_named(tmp_path, content):
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ProxyError, match=r"tokenizer\.json cannot be read .*export the model"):
        read_tokenizer(tokenizers.Tokenizer, tmp_path)
