"""What names an audit store."""

import pytest

from ragguard.audit import MemoryStore, open_store
from ragguard.errors import InvalidInputError


@pytest.mark.parametrize("store", [5, object(), ["sqlite:///audit.db"]])
def test_what_is_no_store_is_told_so(store):
    with pytest.raises(InvalidInputError, match="store must be a path, a URL or an AuditStore"):
        open_store(store)


@pytest.mark.parametrize("store", ["", " \n"])
def test_a_blank_name_is_told_so(store):
    with pytest.raises(InvalidInputError, match=r"the store is blank; pass a path, .* store=None"):
        open_store(store)


@pytest.mark.parametrize("store", ["a\0.db", "sqlite:///a\0.db", "a\ud800.db"])
def test_a_name_that_no_file_can_have_is_told_so(store):
    with pytest.raises(InvalidInputError, match="no file can have the name"):
        open_store(store)


def test_a_store_is_returned_as_it_is():
    store = MemoryStore()
    assert open_store(store) is store
