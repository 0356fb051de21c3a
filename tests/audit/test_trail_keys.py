"""The trail's keys come from the environment, and nothing else."""

import pytest

from ragguard.audit import open_store
from ragguard.audit.trail import KEY, KEY_FILE, Keys
from ragguard.errors import InvalidInputError, StoreError

OLD, NEW = "a" * 32, "b" * 64


def test_the_newest_key_signs_and_all_verify(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{OLD}\n\n{NEW}\n")
    keys, old = Keys.from_environment({KEY_FILE: str(path)}), Keys([OLD])
    assert keys.newest == Keys([NEW]).newest != old.newest
    assert keys.sign(old.newest, b"x") == old.sign(old.newest, b"x")
    assert [keys.rank(name) for name in ("", old.newest, keys.newest)] == [0, 1, 2]
    assert keys.rank("00000000") is keys.rank(None) is None


def test_a_signature_is_that_of_rfc_4231():
    keys = Keys(["k" * 40])
    keys._secrets["test"] = b"Jefe"
    assert keys.sign("test", b"what do ya want for nothing?") == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_without_a_key_the_chain_has_one_that_everybody_has():
    keys = Keys.from_environment({})
    assert (keys.newest, keys.rank("")) == ("", 0)


@pytest.mark.parametrize("secret", ["secret", "x" * 31])
def test_a_short_key_is_refused(secret, monkeypatch, sql_url):
    monkeypatch.setenv(KEY, secret)
    with pytest.raises(InvalidInputError, match="openssl rand -hex 32") as caught:
        open_store(sql_url)
    assert secret not in str(caught.value)


def test_a_file_that_cannot_be_read_is_said_at_once(monkeypatch, tmp_path, sql_url):
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "none"))
    with pytest.raises(StoreError, match=KEY_FILE):
        open_store(sql_url)
    (tmp_path / "none").write_text("\n")
    with pytest.raises(StoreError, match="empty"):
        open_store(sql_url)
    monkeypatch.setenv(KEY, NEW)
    with pytest.raises(InvalidInputError, match="both set"):
        open_store(sql_url)


def test_a_file_of_bytes_that_are_no_text_is_a_key(tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(b"\xff" * 40)
    assert Keys.from_environment({KEY_FILE: str(path)}).newest
