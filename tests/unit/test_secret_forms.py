"""Where one of the forms of secrets is in a text, it is found: the look over all forms at once misses none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.text.secret_patterns import FORMS, tokens_in

TOKENS = st.sampled_from(FORMS).flatmap(lambda form: st.from_regex(form.pattern))


@given(TOKENS, st.text(max_size=20), st.sampled_from(["", " ", "\n", "=", "ä", "\ud800"]))
@settings(max_examples=100)
def test_each_form_is_found_wherever_its_pattern_matches(token: str, before: str, between: str) -> None:
    text = before + between + token
    if any(form.pattern.search(text) for form in FORMS):
        assert tokens_in(text)
