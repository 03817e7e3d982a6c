"""Tokens as they are counted here, against tokenizers that models read with: LiteLLM brings them, the product loads none."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bench.retrieval import read_set
from reflexion.reflection.prompt_text import choose_reflections
from reflexion.text import token_estimate
from reflexion.text.token_estimate import cut_to, tokens_of
from tests.unit.reflexion.test_retrieval import reflection

DRAWN = random.Random(7)
LESSONS = [f"{each.trigger} → {each.action}" for each in read_set()[0]]


@pytest.fixture(autouse=True, scope="module")
def tokenizers_of_litellm() -> Iterator[None]:
    """Let tiktoken find what LiteLLM brings, without importing LiteLLM."""
    found = find_spec("litellm")
    assert found is not None
    assert found.submodule_search_locations
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", f"{found.submodule_search_locations[0]}/litellm_core_utils/tokenizers")
        yield


def _many(made: Callable[[], str], count: int = 12) -> list[str]:
    return [" ".join(made() for _ in range(count)) for _ in range(20)]


def _path() -> str:
    parts = ("srv", "q7", "node_modules", ".venv", "x86_64-linux-gnu", "py3.11", "site-packages", "b3f1", "tests")
    return "/" + "/".join(DRAWN.choice(parts) for _ in range(6)) + f"/a_{DRAWN.randrange(99)}.py:{DRAWN.randrange(999)}"


def _chunks(name: str) -> list[str]:
    whole = (Path(token_estimate.__file__).parents[2] / name).read_text(encoding="utf-8")
    return [whole[at : at + 400] for at in range(0, len(whole), 400)]


TEXTS: Final[dict[str, list[str]]] = {
    "lessons": LESSONS,
    "python": _chunks("reflexion/lessons/lifecycle.py"),
    "markdown": _chunks("docs/lessons.md"),
    "hex": _many(lambda: f"{DRAWN.getrandbits(160):x}"),
    "uuids": _many(lambda: str(uuid.UUID(int=DRAWN.getrandbits(128)))),
    "keys": _many(lambda: base64.b64encode(DRAWN.randbytes(60)).decode()),
    "letters": _many(lambda: "".join(DRAWN.choices("abcdefghijklmnopqrstuvwxyz", k=32))),
    "numbers": _many(lambda: str(DRAWN.randrange(10 ** DRAWN.randint(1, 18)))),
    "paths": _many(_path),
    "json": _many(lambda: json.dumps({f"k{DRAWN.randrange(99)}": [DRAWN.random(), None, {"a": "b3f"}]})),
    "Japanese": ["日付の解析器は空の行で失敗しました。次回は空の行を飛ばしてから日付を読みます。プールを大きくしてください。"],
    "Chinese": ["日期解析器遇到空行时失败。下次在解析日期之前跳过空行，并检查导出文件。"],
    "Korean": ["날짜 파서가 빈 행에서 실패했습니다. 다음에는 빈 행을 건너뛰고 날짜를 읽으세요."],
    "German": ["Der Datumsparser stieß auf leere Zeilen; überspringe sie künftig, bevor die Größe geprüft wird."],
    "French": ["L’analyseur de dates a échoué à cause des lignes vides ; à l’avenir, ignorez-les d’abord."],
    "Polish": ["Następnym razem pomiń puste wiersze, zanim źdźbło się złamie; żółć, gęś."],
    "Russian": ["Парсер дат встретил пустые строки. В следующий раз пропустите их, съёмщик."],
    "Arabic": ["فشل محلل التاريخ بسبب الصفوف الفارغة. في المرة القادمة تجاهلها."],
    "Hebrew": ["מנתח התאריכים נכשל בשורות ריקות. בפעם הבאה דלג עליהן."],
    "Hindi": ["तिथि पार्सर खाली पंक्तियों पर विफल रहा। अगली बार उन्हें छोड़ दें।"],
    "Greek": ["Ο αναλυτής ημερομηνιών απέτυχε σε κενές γραμμές."],
    "Amharic": ["የቀን ተንታኙ ባዶ ረድፎችን አገኘ"],
    "signs": ["✔ done 🎉🚀 👩‍👩‍👧 ❌ → … “quoted” — dash ✗ ░▒▓ ┌──┐ ════ ----- ......F..F"],
}  # fmt: skip
WORST: Final = {"o200k_base": 1.0, "cl100k_base": 1.32}
"""GPT-4o's, and the one before it, which takes Amharic (1.31), Hebrew (1.2) and Greek (1.07) into more pieces."""


@pytest.mark.parametrize("name", WORST)
def test_nothing_is_counted_much_too_low_and_prose_not_much_too_high(name: str) -> None:
    encoding = tiktoken.get_encoding(name)
    short = {
        kind: max(len(encoding.encode(text, disallowed_special=())) / tokens_of(text) for text in texts)
        for kind, texts in TEXTS.items()
    }
    worst = max(short, key=lambda kind: short[kind])
    assert short[worst] <= WORST[name], (worst, short)
    prose = sum(len(encoding.encode(text)) for text in LESSONS) / sum(map(tokens_of, LESSONS))
    assert prose > 0.75, "a budget of 300 tokens holds 225 of them at least"


@pytest.mark.parametrize("kind", TEXTS)
def test_three_reflections_of_any_text_stay_within_400_tokens(kind: str) -> None:
    """What the reader of GPT-4o counts in the prompt, whatever they are made of."""
    long = " ".join(TEXTS[kind] * 9)[:3_000]
    known = [reflection(number) for number in range(3)]
    insight = known[0].insight.model_copy(update=dict.fromkeys(type(known[0].insight).model_fields, long))
    told = choose_reflections([each.model_copy(update={"insight": insight, "evidence": (long,)}) for each in known])
    read = len(tiktoken.get_encoding("o200k_base").encode("\n".join(each.text for each in told), disallowed_special=()))
    assert read <= 400
    assert len(told) == 3


@given(text=st.text(max_size=200), room=st.integers(0, 60))
def test_what_is_cut_is_the_longest_beginning_that_fits(text: str, room: int) -> None:
    kept = cut_to(text, room)
    assert tokens_of(kept) <= room
    if kept != text and kept:
        assert text.startswith(kept[:-1])
        assert kept.endswith("…")
        assert tokens_of(text[: len(kept)] + "…") > room


def test_the_product_counts_without_a_tokenizer() -> None:
    look = "import sys, reflexion.text.token_estimate; print(*{'tiktoken', 'tokenizers', 'litellm'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
