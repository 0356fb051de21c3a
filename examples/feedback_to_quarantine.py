"""From "this answer is wrong" to quarantine: a user's report traced through the knowledge base.

python examples/feedback_to_quarantine.py
"""

from ragguard import Guard, Passage
from ragguard.demo.corpus import load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.knowledge.memory import KnowledgeBase


def main() -> None:
    corpus = load_corpus()
    question = next(q for q in corpus.questions if q.id == "q10")
    planted = poison(question, "statement", form="plain")
    knowledge_base = KnowledgeBase([*corpus.passages, *planted])
    reader = ExtractiveReader(passage.text for passage in corpus.passages)

    # `retrieve` lets attribution search the whole knowledge base, not only what was read.
    # With store="sqlite:///audit.db" the quarantine would outlive this program.
    with Guard(retrieve=knowledge_base.retrieve) as guard:

        def ask() -> tuple[str, list[Passage]]:
            retrieved = knowledge_base.retrieve(question.text, 10)
            kept = guard.filter(question.text, retrieved, k=5).kept
            return reader.answer(question.text, kept), kept

        answer, read = ask()
        print(f"{question.text}\nanswer: {answer} (right: {question.correct_answer})")

        event_id = guard.report(question.text, answer, passages=read, reporter="a user")
        attribution = guard.attribution(event_id, timeout=60)
        print(f"cause: {attribution.cause}, {attribution.reason}")
        for passage in attribution.responsible:
            print(f"responsible: {passage.id}: {passage.text[:70]}...")

        # A report is a claim. These texts show no mark of an attack, so they are proposed, and a
        # person decides; what shows one goes into quarantine at once.
        for entry in guard.proposals():
            guard.confirm(entry, actor="operator")
            print(f"in quarantine: {entry.passage_id}")

        answer, _ = ask()
        print(f"answer now: {answer}")


if __name__ == "__main__":
    main()
