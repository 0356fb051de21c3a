import re

from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.normalize.leet import lettered

# What is a letter, sign by sign: the slow reference.
_EACH = re.compile(r"[@$]|[!|+](?=[^\W_]|[@$!|+])|(?<=[^\W_])[+]")
_SIGNS = {"@": "a", "$": "s", "!": "i", "|": "l", "+": "t"}


@given(st.text(st.sampled_from("@$!|+a1 _\u00e9")))
def test_signs_in_words_are_letters(text):
    assert lettered(text) == _EACH.sub(lambda found: _SIGNS[found[0]], text)
