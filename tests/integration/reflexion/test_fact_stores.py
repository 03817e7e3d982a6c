"""One contract for facts in every lesson store."""

from __future__ import annotations

from functools import partial

import pytest

from reflexion.lessons.fact import FactScope, fact_id, forgotten, remembered
from reflexion.ports import LessonStore
from tests.integration.reflexion.conftest import EVERY_LESSON_STORE
from tests.unit.reflexion.logs import EPOCH
from tests.unit.reflexion.test_facts import HERE, SUNDAY, fact

pytestmark = pytest.mark.parametrize("lesson_store", EVERY_LESSON_STORE, indirect=True)


async def test_facts_of_a_scope_are_changed_together_and_seen_in_no_other(lesson_store: LessonStore) -> None:
    one, two = fact(SUNDAY), fact("Releases go out on Tuesdays.")
    assert await lesson_store.change_facts(HERE, partial(remembered, new=one)) == (one,)
    await lesson_store.change_facts(HERE, partial(remembered, new=two))
    repository = FactScope(guild="g1", repository="github.com/a/b")
    own = one.model_copy(update={"scope": repository, "id": fact_id(repository, SUNDAY)})
    await lesson_store.change_facts(repository, partial(remembered, new=own))
    assert await lesson_store.facts_in(HERE) == (one, two)
    assert await lesson_store.facts_in(repository) == (own,)
    assert await lesson_store.facts_in(FactScope(guild="g2")) == ()
    assert await lesson_store.facts("g1") == (one, two, own)
    assert await lesson_store.facts("g2") == ()
    assert await lesson_store.facts(None) == (one, two, own)
    await lesson_store.change_facts(HERE, partial(forgotten, id=one.id))
    assert await lesson_store.facts_in(HERE) == (two,)
    await lesson_store.sweep(EPOCH.replace(year=EPOCH.year + 1))
    assert await lesson_store.facts(None) == ()
