"""A first look over a text saves time and changes nothing: with it and without, the same is taken out."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.text.first_look import FirstLook
from agentic.text.secret_patterns import FORMS
from bot.rendering.secrets import Discretion

VALUE = "a8f5f167f44f4964"
NAMED = (
    *(f"{name}{sign}{VALUE}" for sign in ("=", '": "', " : ", 's": [ "', '", "', '", "value" : "') for name in
      ("password", "passwd", "passphrase", "api_key", "API-Key", "apikey", "Secret", "TOKEN")),
    f"Bearer {VALUE}", f"BASIC  {VALUE}", "authorization: basic a1b2c3", "AUTHORIZATION = Token a1b2c3",
    "https://ada:lovelace@x.test", "://a:b@",
)  # fmt: skip
ALIKE = (("", ""), ("s", "ſ"), ("k", "\u212a"), ("i", "ı"), ("I", "İ"), (" ", "\x1c"), (" ", "\u2003"))
"""What counts as the same to a pattern that knows no case, or as a space."""
BEFORE = ("", "x ", "ä", "\n", "\ud800")


def unlooked(text: str) -> str:
    """The text as it is shown where no look is taken first."""
    with patch.object(FirstLook, "finds", return_value=True):
        return Discretion().text(text)


def test_what_a_name_gives_as_a_secret_is_not_overlooked() -> None:
    texts = [
        before + (text.replace(*alike) if alike[0] else text) for before, text, alike in product(BEFORE, NAMED, ALIKE)
    ]
    assert all(Discretion().text(text) == unlooked(text) for text in texts)
    assert all(unlooked(text) != text for text in NAMED)


@given(
    st.text(max_size=9),
    st.sampled_from(BEFORE),
    st.sampled_from(FORMS).flatmap(lambda form: st.from_regex(form.pattern)),
)
@settings(max_examples=100)
def test_no_form_of_a_secret_is_overlooked(around: str, before: str, secret: str) -> None:
    text = around + before + secret + around
    assert Discretion().text(text) == unlooked(text)
