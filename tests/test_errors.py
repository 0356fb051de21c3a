"""Messages are short enough to be read, whatever they quote."""

import pickle

import pytest

from ragguard import Guard, errors

LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda guard: Guard(mode=LONG), "mode must be one of"),
        (lambda guard: Guard(alpha=LONG), "alpha must be a number"),
        (lambda guard: guard.filter("q?", ["a"], k=LONG), "k must be a positive int"),
        (lambda guard: guard.calibrate_from_store(newest=LONG), "newest must be"),
        (lambda guard: guard.attribution(LONG), "event"),
        (lambda guard: guard.confirm(LONG), "quarantine"),
    ],
)
def test_a_long_argument_is_quoted_in_part(call, said):
    with Guard() as guard, pytest.raises(errors.RagguardError, match=said) as caught:
        call(guard)
    assert len(str(caught.value)) < 1_000


def test_what_a_long_message_advises_is_told():
    error = errors.InvalidInputError(f"k must be a number, not {LONG}; leave it out")
    assert str(error).startswith("k must be a number, not x")
    assert str(error).endswith("x; leave it out")
    assert pickle.loads(pickle.dumps(error)).args == error.args
    assert str(errors.EventNotFoundError("x" * 980)) == "x" * 980
