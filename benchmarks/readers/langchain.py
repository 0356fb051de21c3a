"""Any chat model of LangChain by its name there: `reader = "langchain PROVIDER:MODEL"` in a suite.

The provider's package and its key are found as LangChain finds them.
"""

from benchmarks.plugins import About, ReaderPlugin
from benchmarks.readers.base import Answer, Prompt, in_words
from ragguard.attribution.text_model import as_text_model
from ragguard.errors import InvalidInputError

_TOKENS = 32


class _ChatModel:
    words = staticmethod(in_words)

    def __init__(self, model: str = "") -> None:
        if not model:
            raise InvalidInputError('name it in full: "langchain PROVIDER:MODEL"')
        try:
            from langchain.chat_models import init_chat_model

            chat = init_chat_model(model, temperature=0, max_tokens=_TOKENS)
        except (ImportError, ValueError) as error:
            told = f"no {model} ({error}); install langchain and its package for the provider"
            raise InvalidInputError(told) from error
        self.name = f"{model} by LangChain, temperature 0, {_TOKENS} tokens"
        self._model = as_text_model(chat)

    def answer(self, prompt: Prompt) -> Answer:
        model = self._model.metered()
        said = model.generate(in_words(prompt)).strip()
        return Answer(said, model.usage.input_tokens, model.usage.output_tokens)


_ABOUT = About("LangChain", "chat models of LangChain", "", "none", "language model")
READER = ReaderPlugin(_ABOUT, _ChatModel, measures=("ragguard.attribution.text_model",))
