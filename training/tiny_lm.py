"""A causal language model of a test's size, made on the spot: nothing is downloaded.

Needs the ``trl`` extra.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from ..envs.errors import require
from .match.chat import Completion, Message

EXTRA = "trl"
END = "<end>"
PIECES = r'\n+|[{}"]'
"""What stands alone: line ends, and the marks of JSON. A line that recurs may become one token."""
TEMPLATE = (
    "{% for message in messages %}{{ '<' + message['role'] + '>' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + '<end>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '<end>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
"""The chat template, with the assistant's words marked for the loss."""


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """A byte-level BPE tokenizer with a chat template, trained on ``texts``.

    Any text can be written in it; it ends what it says with ``END``.

    Raises:
        MissingExtraError: without the ``trl`` extra.
    """
    tokenizers = require("tokenizers", EXTRA)
    transformers = require("transformers", EXTRA)
    pre, special = tokenizers.pre_tokenizers, ["<pad>", END, "<system>", "<user>", "<assistant>"]
    raw = tokenizers.Tokenizer(tokenizers.models.BPE())
    raw.pre_tokenizer = pre.Sequence(
        [
            pre.Split(tokenizers.Regex(PIECES), "isolated"),
            pre.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    raw.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=sorted(pre.ByteLevel.alphabet()),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token=special[0],
        eos_token=END,
        chat_template=TEMPLATE,
        padding_side="left",
    )


def make_model(tokenizer: Any, width: int, layers: int) -> Any:
    """An untrained Llama of that width, on the CPU; its weights come from torch's generator."""
    transformers = require("transformers", EXTRA)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.LlamaForCausalLM(config)


def say(
    model: Any, tokenizer: Any, conversations: Sequence[Sequence[Message]], longest: int
) -> list[str]:
    """What the model says next in each conversation, sampled: at most ``longest`` tokens."""
    torch = require("torch", EXTRA)
    given = tokenizer.apply_chat_template(
        [list(one) for one in conversations],
        add_generation_prompt=True,
        padding=True,
        return_tensors="pt",
        return_dict=True,
    )
    with torch.no_grad():
        whole = model.generate(
            input_ids=given["input_ids"],
            attention_mask=given["attention_mask"],
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=longest,
        )
    said: list[str] = tokenizer.batch_decode(
        whole[:, given["input_ids"].shape[1] :], skip_special_tokens=True
    )
    return said


class Speaker:
    """The model in a chat endpoint's place, at many matches of one event loop at once.

    What they ask while the loop has nothing else to do is answered together, ``batch`` at a time.
    """

    def __init__(self, model: Any, tokenizer: Any, longest: int, batch: int = 256) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.longest, self.batch = longest, batch
        self._asked: list[tuple[Sequence[Message], asyncio.Future[str]]] = []

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        """Wait for the others' questions, and answer."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        if not self._asked:
            loop.call_later(1e-3, self._answer)  # virtual time: when all wait
        self._asked.append((tuple(messages), answer))
        return Completion(await answer)

    def _answer(self) -> None:
        asked, self._asked = self._asked, []
        asked.sort(key=lambda one: sum(len(message["content"]) for message in one[0]))
        for start in range(0, len(asked), self.batch):
            part = asked[start : start + self.batch]
            said = say(self.model, self.tokenizer, [one for one, _ in part], self.longest)
            for (_, answer), text in zip(part, said, strict=True):
                answer.set_result(text)

    async def __aenter__(self) -> Speaker:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None
