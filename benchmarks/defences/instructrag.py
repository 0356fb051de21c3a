"""InstructRAG, by prompt: the model reasons about which passages help before it answers."""

from benchmarks.plugins import About, Case, Decision, Defence

_INSTRUCTION = (
    "Say in one short sentence which passages help to answer the question and which mislead,"
    " and then give the answer in a few words."
)


def _judge(case: Case) -> Decision:
    return Decision(tuple(range(len(case.retrieved.texts))), instruction=_INSTRUCTION)


DEFENCE = Defence(
    About(
        "InstructRAG, prompt",
        "InstructRAG, Wei et al., arXiv 2406.13629",
        "ICLR 2025",
        "one query",
        "language model",
        "templated",
    ),
    lambda _: _judge,
)
