"""Pictures in the history: named with kind and size, counted in a prompt's length, and dropped with what is cut off."""

from __future__ import annotations

import orjson
import pytest

from agentic.core.events.execution_events import FileRef, InputReceived, Started
from agentic.core.fold.prompt_size import AROUND, USUAL, characters, pending, picture
from agentic.core.prompt.user_messages import pictures_of
from agentic.core.state.conversation import Message, Picture
from agentic.runtime.request_refs import chain_of
from tests.unit.core.building import YOU
from tests.unit.core.compacting_logs import Long

SHOT = FileRef(name="a.png", path="attachments/a.png", size=900, media="image/png", sha="f" * 64, width=800, height=600)
DAMAGED = SHOT.model_copy(update={"path": "attachments/b.png", "width": 0, "height": 0, "sha": "e" * 64})
PLAIN = FileRef(name="c.txt", path="attachments/c.txt", size=3)
SKIPPED = SHOT.model_copy(update={"path": "", "skipped": "it has 500 MB"})


class Shown(Long):
    """A log whose task has files."""

    def __init__(self, *files: FileRef, **policy: object) -> None:
        self.files = files
        super().__init__(**policy)

    def add(self, *events: object) -> None:
        super().add(*(e.model_copy(update={"files": self.files}) if isinstance(e, Started) else e for e in events))


def test_a_task_names_its_pictures_and_holds_references_to_them() -> None:
    log = Shown(SHOT, DAMAGED, PLAIN, SKIPPED)
    log.request()
    (first,) = log.execution.history
    assert "attachments/a.png (900 bytes, PNG picture, 800×600)" in first.text
    assert "attachments/b.png (900 bytes, PNG picture, damaged)" in first.text
    assert "attachments/c.txt (3 bytes)" in first.text
    assert first.pictures == pictures_of((SHOT, DAMAGED))
    assert first.pictures[0] == Picture("attachments/a.png", "image/png", "f" * 64, 900, 800, 600)


def test_what_a_person_adds_carries_its_pictures_once() -> None:
    log = Long()
    log.turn()
    log.add(InputReceived(inbox="i1", sort="guidance", author=YOU, text="like this", files=(SHOT, PLAIN)))
    assert log.execution.told.pictures == pictures_of((SHOT,))
    assert pending(log.execution) > picture(log.execution.told.pictures[0])
    log.turn()
    assert [message.pictures for message in log.execution.history if message.pictures] == [pictures_of((SHOT,))]
    assert log.execution.told.pictures == ()


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(750, 100, 100), (1568, 1568, 3278), (15_680, 15_680, 3278), (1, 1, 0)]
)
def test_a_picture_counts_by_its_size_and_larger_ones_as_providers_shrink_them(
    width: int, height: int, tokens: int
) -> None:
    shown = Picture("a", "image/png", "", 1, width, height)
    assert picture(shown) == pytest.approx(tokens / USUAL + AROUND, abs=5)
    assert characters((Message("user", pictures=(shown,)),)) == AROUND + picture(shown)


def test_a_damaged_picture_counts_nothing() -> None:
    assert picture(pictures_of((DAMAGED,))[0]) == 0


def test_the_hash_of_a_history_without_pictures_is_what_it_was_before_there_were_any() -> None:
    import hashlib

    message = Message("user", "hello")
    fields = {"role": "user", "text": "hello", "calls": [], "answers": [], "reasoning": [], "landmark": False}
    assert chain_of((message,)) == hashlib.sha256(orjson.dumps(fields)).hexdigest()
    assert chain_of((Message("user", "hello", pictures=pictures_of((SHOT,))),)) != chain_of((message,))


def test_a_cut_keeps_the_task_with_its_pictures_and_says_which_others_are_gone() -> None:
    log = Shown(SHOT)
    log.turn()
    second = SHOT.model_copy(update={"path": "attachments/later.png", "sha": "d" * 64})
    log.add(InputReceived(inbox="i1", sort="guidance", author=YOU, text="like this", files=(second,)))
    for _ in range(60):
        log.turn()
        log.go_on()
        if log.compactions:
            break
    history = log.execution.history
    assert history[0].pictures == pictures_of((SHOT,))
    assert "Pictures you can no longer see:\n- attachments/later.png" in history[1].text
    assert "attachments/a.png" not in history[1].text
    assert not any(message.pictures for message in history[1:])
