from __future__ import annotations

import asyncio
import functools
import socket
import threading
import urllib.error
from types import SimpleNamespace

import pytest

from ragguard.attribution import text_model
from ragguard.attribution.model_calls import is_transient
from ragguard.attribution.text_model import (
    Prices,
    TextModel,
    Usage,
    as_text_model,
)
from ragguard.errors import GenerationError, InvalidInputError


class RunnableShape:
    """What a LangChain chat model offers."""

    def __init__(self, content, usage=None):
        self.content, self.usage = content, usage
        self.seen: list[tuple[str, str]] = []

    def _message(self):
        return SimpleNamespace(content=self.content, usage_metadata=self.usage)

    def invoke(self, prompt, config=None):
        self.seen.append(("invoke", prompt))
        return self._message()

    async def ainvoke(self, prompt, config=None):
        self.seen.append(("ainvoke", prompt))
        return self._message()


class CompletionShape:
    """What a LlamaIndex LLM offers."""

    def complete(self, prompt, formatted=False, **options):
        return SimpleNamespace(
            text=f"completed {prompt}",
            raw={"usage": {"prompt_tokens": 3, "completion_tokens": 2}},
            additional_kwargs={},
        )

    async def acomplete(self, prompt, formatted=False, **options):
        return self.complete(prompt)


class ChatOnlyShape:
    def chat(self, messages):
        (message,) = messages
        content = f"{message.role!s} said {message.content}"
        return SimpleNamespace(message=SimpleNamespace(content=content), raw=None)

    async def achat(self, messages):
        return self.chat(messages)


class CannotComplete(ChatOnlyShape):
    def complete(self, prompt):
        raise NotImplementedError

    async def acomplete(self, prompt):
        raise NotImplementedError


async def both(model: TextModel, prompt: str) -> list[str]:
    return [
        await asyncio.to_thread(model.generate, prompt),
        await asyncio.to_thread(model, prompt),
        await model.agenerate(prompt),
        *await asyncio.to_thread(model.generate_many, [prompt]),
        *await model.agenerate_many([prompt]),
    ]


class TestAdaptation:
    async def test_a_plain_callable(self):
        assert await both(as_text_model(str.upper), "yes") == ["YES"] * 5

    async def test_an_async_callable(self):
        async def model(prompt):
            await asyncio.sleep(0)
            return prompt.upper()

        assert await both(as_text_model(model), "yes") == ["YES"] * 5

    async def test_an_async_callable_behind_a_partial_and_an_object(self):
        async def model(prompt, suffix):
            return prompt + suffix

        class Holder:
            async def __call__(self, prompt):
                return await model(prompt, "!")

        assert await both(as_text_model(functools.partial(model, suffix="!")), "a") == ["a!"] * 5
        assert await both(as_text_model(Holder()), "a") == ["a!"] * 5

    async def test_a_plain_callable_that_returns_an_awaitable(self):
        async def model(prompt):
            return prompt * 2

        assert await both(as_text_model(lambda prompt: model(prompt)), "a") == ["aa"] * 5

    def test_generate_works_where_a_loop_already_runs(self):
        async def model(prompt):
            return prompt

        async def main():
            return as_text_model(model).generate("inside")

        assert asyncio.run(main()) == "inside"

    def test_an_async_client_stays_on_one_loop(self):
        loops = []

        async def model(prompt):
            loops.append(asyncio.get_running_loop())
            return prompt

        text_model = as_text_model(model)
        text_model.generate("a")
        text_model.generate_many(["b", "c"])
        assert len(loops) == 3
        assert len({id(loop) for loop in loops}) == 1

    async def test_a_langchain_shape_uses_its_own_async_call(self):
        model = RunnableShape("hello", {"input_tokens": 7, "output_tokens": 1})
        text_model = as_text_model(model)
        assert await text_model.agenerate("p") == "hello"
        assert text_model.generate("q") == "hello"
        assert model.seen == [("ainvoke", "p"), ("invoke", "q")]
        assert text_model.usage == Usage(calls=2, input_tokens=14, output_tokens=2)

    def test_message_content_as_blocks(self):
        blocks = [
            {"type": "reasoning", "reasoning": "hm"},
            {"type": "text", "text": "one "},
            "two ",
            SimpleNamespace(text="three"),
        ]
        assert as_text_model(RunnableShape(blocks)).generate("p") == "one two three"

    def test_token_usage_in_response_metadata(self):
        message = SimpleNamespace(
            content="x",
            usage_metadata=None,
            response_metadata={"token_usage": {"prompt_tokens": 5, "completion_tokens": 4}},
        )
        model = as_text_model(lambda prompt: message)
        model.generate("p")
        assert model.usage == Usage(1, 5, 4)

    async def test_a_llama_index_shape(self):
        model = as_text_model(CompletionShape())
        assert await both(model, "p") == ["completed p"] * 5
        assert model.usage == Usage(calls=5, input_tokens=15, output_tokens=10)

    @pytest.mark.parametrize("shape", [ChatOnlyShape, CannotComplete])
    async def test_a_chat_only_model(self, shape):
        answers = await both(as_text_model(shape()), "hi")
        assert len(set(answers)) == 1
        assert answers[0].endswith("said hi")

    def test_a_text_model_is_returned_as_it_is(self):
        model = as_text_model(str.upper)
        assert as_text_model(model) is model

    @pytest.mark.parametrize("thing", [None, "gpt", 3, object(), RunnableShape])
    def test_anything_else_is_refused(self, thing):
        with pytest.raises(InvalidInputError, match="pass a callable"):
            as_text_model(thing)

    def test_the_real_langchain_fake(self):
        chat_models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
        llms = pytest.importorskip("langchain_core.language_models.fake")
        chat = chat_models.FakeListChatModel(responses=["first", "second"])
        assert as_text_model(chat).generate_many(["a", "b"], limit=1) == ["first", "second"]
        llm = as_text_model(llms.FakeListLLM(responses=["only"]))
        assert asyncio.run(both(llm, "p")) == ["only"] * 5

    def test_the_real_llama_index_mock(self):
        pytest.importorskip("llama_index.core")
        from llama_index.core.llms import MockLLM

        assert asyncio.run(both(as_text_model(MockLLM()), "echo this")) == ["echo this"] * 5

    def test_the_real_llama_index_message_for_a_chat_only_model(self):
        types = pytest.importorskip("llama_index.core.base.llms.types")
        seen = []

        class Model(ChatOnlyShape):
            def chat(self, messages):
                seen.extend(messages)
                return types.ChatResponse(
                    message=types.ChatMessage(role="assistant", content="fine")
                )

        assert as_text_model(Model()).generate("hi") == "fine"
        assert seen == [types.ChatMessage(role="user", content="hi")]


class RateLimitError(Exception):
    """Named as the OpenAI client names it."""


class StatusError(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.response = SimpleNamespace(status_code=status)


class AwsError(Exception):
    """Tells its status as botocore's errors do."""

    def __init__(self, status):
        super().__init__(f"status {status}")
        self.response = {"Error": {}, "ResponseMetadata": {"HTTPStatusCode": status}}


class ClientConnectionError(Exception):
    """Named as aiohttp names what its lost connections descend from."""


class ServerDisconnectedError(ClientConnectionError):
    """As aiohttp's."""


class ClientPayloadError(Exception):
    """As aiohttp's, of a reply that breaks off."""


class Flaky:
    """Raises each of `errors` in turn, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def __call__(self, prompt):
        if self.errors:
            raise self.errors.pop(0)
        return "at last"


class TestRetries:
    @pytest.mark.parametrize(
        "error",
        [
            TimeoutError(),
            ConnectionResetError(),
            RateLimitError(),
            StatusError(429),
            StatusError(503),
            AwsError(429),
            AwsError(503),
            ServerDisconnectedError(),
            ClientPayloadError(),
            socket.gaierror(-3, "no name"),
            urllib.error.URLError(OSError("no route")),
            urllib.error.HTTPError("http://x", 500, "broken", None, None),  # type: ignore[arg-type]
        ],
        ids=repr,
    )
    def test_transient(self, error):
        assert is_transient(error)

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("bad prompt"),
            StatusError(400),
            StatusError(401),
            AwsError(400),
            KeyError("x"),
            urllib.error.HTTPError("http://x", 404, "absent", None, None),  # type: ignore[arg-type]
        ],
        ids=repr,
    )
    def test_permanent(self, error):
        assert not is_transient(error)

    async def test_transient_errors_are_tried_again(self):
        for run_async in (False, True):
            flaky = Flaky(TimeoutError(), RateLimitError())

            async def aflaky(prompt, flaky=flaky):
                return flaky(prompt)

            model = as_text_model(aflaky if run_async else flaky, backoff_s=0.0)
            answer = (
                await model.agenerate("p")
                if run_async
                else await asyncio.to_thread(model.generate, "p")
            )
            assert answer == "at last"
            assert model.usage.calls == 3

    def test_the_waits_double(self, monkeypatch):
        waits: list[float] = []
        monkeypatch.setattr(text_model.time, "sleep", waits.append)
        as_text_model(Flaky(*[TimeoutError()] * 3), retries=3, backoff_s=0.5).generate("p")
        assert len(waits) == 3
        for wait, base in zip(waits, (0.5, 1.0, 2.0), strict=True):
            assert base <= wait <= 1.25 * base

    def test_gives_up_after_the_retries(self):
        model = as_text_model(Flaky(*[TimeoutError("slow")] * 9), retries=2, backoff_s=0.0)
        with pytest.raises(
            GenerationError, match=r"TimeoutError \(slow\), in 3 attempts"
        ) as caught:
            model.generate("p")
        assert isinstance(caught.value.__cause__, TimeoutError)
        assert model.usage.calls == 3

    async def test_permanent_errors_are_not_tried_again(self):
        model = as_text_model(Flaky(ValueError("too long")))
        with pytest.raises(GenerationError, match="ValueError"):
            await model.agenerate("p")
        assert model.usage.calls == 1

    @pytest.mark.parametrize("answer", ["", "  \n", None, 3, [], SimpleNamespace(content=None)])
    async def test_no_text_is_an_error(self, answer):
        model = as_text_model(lambda prompt: answer)
        with pytest.raises(GenerationError, match="returned no text"):
            await asyncio.to_thread(model.generate, "p")
        with pytest.raises(GenerationError, match="returned no text"):
            await model.agenerate("p")

    @pytest.mark.parametrize("options", [{"retries": -1}, {"backoff_s": -0.1}])
    def test_negative_numbers_are_refused(self, options):
        with pytest.raises(InvalidInputError):
            as_text_model(str.upper, **options)


class TestMany:
    @pytest.mark.parametrize("limit", [1, 3, 8])
    async def test_answers_come_in_the_order_of_the_prompts(self, chat_server, limit):
        model = as_text_model(chat_server.ask)
        prompts = [f"prompt {n}" for n in range(12)]
        assert await asyncio.to_thread(model.generate_many, prompts, limit=limit) == prompts
        assert await model.agenerate_many(prompts, limit=limit) == prompts
        assert sorted(chat_server.prompts) == sorted(prompts * 2)
        assert chat_server.peak <= limit
        assert model.usage.calls == 24

    @pytest.mark.parametrize("limit", [1, 4])
    async def test_errors_that_no_retry_would_cure_are_spared(self, limit):
        def model(prompt):
            if prompt == "b":
                raise ValueError("filtered")
            return prompt

        async def amodel(prompt):
            return model(prompt)

        for each in map(as_text_model, (model, amodel)):
            spared: list[GenerationError] = []
            asked = asyncio.to_thread(each.generate_many, list("abc"), limit=limit, spared=spared)
            assert await asked == ["a", "", "c"]
            assert await each.agenerate_many(list("abc"), limit=limit, spared=spared) == [
                "a",
                "",
                "c",
            ]
            assert [str(error.__cause__) for error in spared] == ["filtered"] * 2

    async def test_as_many_as_the_limit_run_at_once(self, chat_server):
        # No reply is sent before four requests are there: fewer at a time would never return.
        meeting = threading.Barrier(4, timeout=30)

        def reply(prompt):
            meeting.wait()
            return prompt

        chat_server.reply = reply
        model = as_text_model(chat_server.ask, retries=0)
        prompts = [f"prompt {n}" for n in range(8)]
        assert await asyncio.to_thread(model.generate_many, prompts, limit=4) == prompts
        assert await model.agenerate_many(prompts, limit=4) == prompts
        assert chat_server.peak == 4

    async def test_native_async_models_meet_on_the_loop(self):
        peak = active = 0

        async def model(prompt):
            nonlocal peak, active
            active += 1
            peak = max(peak, active)
            await asyncio.sleep(0.01)
            active -= 1
            return prompt

        assert await as_text_model(model).agenerate_many([*"abcdef"], limit=3) == [*"abcdef"]
        assert peak == 3

    async def test_a_failure_stops_the_rest(self, chat_server):
        chat_server.reply = lambda prompt: 400 if prompt == "prompt 0" else prompt
        model = as_text_model(chat_server.ask)
        prompts = [f"prompt {n}" for n in range(40)]
        with pytest.raises(GenerationError, match="HTTP Error 400"):
            await asyncio.to_thread(model.generate_many, prompts, limit=1)
        assert len(chat_server.prompts) == 1

    async def test_a_failure_cancels_what_is_awaited(self):
        cancelled = []

        async def model(prompt):
            if prompt == "bad":
                raise ValueError("bad")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(prompt)
                raise

        with pytest.raises(GenerationError):
            await as_text_model(model).agenerate_many(["good", "fine", "bad"])
        assert sorted(cancelled) == ["fine", "good"]

    async def test_a_busy_server_is_asked_again(self, chat_server):
        seen = set()

        def reply(prompt):
            if prompt in seen:
                return prompt
            seen.add(prompt)
            return 429

        chat_server.reply = reply
        model = as_text_model(chat_server.ask, backoff_s=0.0)
        assert await model.agenerate_many(["a", "b", "c"]) == ["a", "b", "c"]
        assert model.usage.calls == 6

    async def test_no_prompts(self):
        model = as_text_model(str.upper)
        assert model.generate_many([]) == []
        assert await model.agenerate_many([]) == []

    async def test_a_limit_below_one_is_refused(self):
        with pytest.raises(InvalidInputError, match="limit"):
            as_text_model(str.upper).generate_many(["a"], limit=0)
        with pytest.raises(InvalidInputError, match="limit"):
            await as_text_model(str.upper).agenerate_many(["a"], limit=0)


def test_a_metered_model_counts_for_itself_and_for_its_parent():
    model = as_text_model(CompletionShape())
    model.generate("before")
    first, second = model.metered(), model.metered()
    first.generate("a")
    second.generate_many(["b", "c"])
    assert first.usage == Usage(1, 3, 2)
    assert second.usage == Usage(2, 6, 4)
    assert model.usage == Usage(4, 12, 8)


def test_counting_is_exact_over_threads():
    model = as_text_model(str.upper)
    model.generate_many(["x"] * 200, limit=16)
    assert model.usage.calls == 200


def test_tokens_are_counted_at_their_prices():
    priced = as_text_model(CompletionShape(), prices=Prices(2.0, 10.0))
    priced.generate_many(["a", "b"])
    assert priced.usage == Usage(2, 6, 4, pytest.approx(6 * 2e-6 + 4 * 10e-6))
    part = priced.metered()
    part.generate("c")
    assert part.usage.cost == pytest.approx(3 * 2e-6 + 2 * 10e-6)
    assert priced.usage.cost == pytest.approx(9 * 2e-6 + 6 * 10e-6)
    free = as_text_model(CompletionShape())
    free.generate("a")
    assert free.usage.cost == 0.0


@pytest.mark.parametrize("prices", [(-1.0, 0.0), (0.0, float("nan")), (float("inf"), 1.0)])
def test_prices_are_finite_and_not_negative(prices):
    with pytest.raises(InvalidInputError, match="per_million must be a price"):
        Prices(*prices)


def test_an_error_of_a_model_inside_a_model_is_passed_on():
    inner = as_text_model(Flaky(ValueError("too long"), ValueError("too long")))
    outer = as_text_model(inner.generate)
    with pytest.raises(GenerationError, match="raised ValueError") as caught:
        outer.generate("p")
    assert isinstance(caught.value.__cause__, ValueError)
    assert "GenerationError" not in str(caught.value)
    assert inner.usage.calls == 1
