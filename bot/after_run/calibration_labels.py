"""The step that stores executions' outcomes as labels, on which the confidence of new executions is fitted.

After an execution was judged, and after each vote on it, its label is derived again from its log. Only numbers and
names of roles and models go into a calibrator, no text of anyone, so the labels of all servers train one: a single
server would wait long for its first fifty (docs/decisions/0021).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from agentic.calibration.fitting import fitted
from agentic.calibration.labelling import examples, label_of
from agentic.core.claims.confidence import SESSION_BEGINS, session_ended, session_voted
from agentic.core.events.calibrator import Calibrator
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import LabelRow, Store
from bot.after_run.pipeline import AfterRunStep, JudgedRun

NEWEST = 1_000
"""Number of the newest labels that are used; older ones say less about today's models."""
GROWN, SHARE = 10, 0.1
"""The calibrator is fitted anew when this number or this share of labels are new or changed."""

log = logging.getLogger(__name__)


class CalibrationLabels(AfterRunStep):
    """Stores labels and fits the calibrator for new executions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._calibrator: Calibrator | None = None
        self._fitted_on = -1
        self._changed = 0
        self._fitting = asyncio.Lock()

    async def after(self, judged: JudgedRun) -> None:
        """Update the label of an execution."""
        await self.came_out(judged.execution)

    async def came_out(self, execution: str) -> None:
        """Derive the label of an execution again; a failure costs only the label."""
        try:
            row = await label(self._store, execution)
            if row is not None:
                await self._keep(row)
        except AgenticError as error:
            log.warning("how execution %s came out could not be kept: %s", execution, error)

    async def calibrator(self) -> Calibrator | None:
        """Return the calibrator of new executions; None while labels are few, or cannot be read."""
        if self._fitted_on < 0:
            await self._fit()
        return self._calibrator

    async def _keep(self, row: LabelRow) -> None:
        known = {each.execution: each for each in await self._store.labels(row.thread)}
        before = known.get(row.execution)
        if before != row:
            await self._store.put_label(row)
        await self._colour(row.thread)
        if before is None or (before.label, before.weight) != (row.label, row.weight):
            self._changed += row.known or before is not None
        if self._fitted_on < 0 or self._changed >= min(GROWN, max(1, SHARE * self._fitted_on)):
            await self._fit()

    async def _colour(self, thread: str) -> None:
        session = await self._store.session(thread)
        confidence = session_confidence(await self._store.labels(thread))
        if session is not None and session.confidence != confidence:
            await self._store.save_session(replace(session, confidence=confidence))

    async def _fit(self) -> None:
        """Fit in a thread, since it takes a tenth of a second and more."""
        async with self._fitting:
            try:
                rows = await self._store.labels(newest=NEWEST)
            except AgenticError as error:
                log.warning("confidence is shown as it was before: %s", error)
                return
            self._fitted_on, self._changed = sum(row.known for row in rows), 0
            self._calibrator = await asyncio.to_thread(lambda: fitted(examples(rows)))


async def label(store: Store, execution: str) -> LabelRow | None:
    """Derive the label of an execution from its log and outcome; None while it runs."""
    row = await store.execution(execution)
    if row is None or not row.finished:
        return None
    session = await store.session(row.thread)
    envelopes = [envelope async for envelope in store.read(execution)]
    return label_of(envelopes, await store.read_outcome(execution), session.guild if session is not None else "")


def session_confidence(rows: list[LabelRow]) -> int:
    """Return a thread's confidence after these executions, in their order; small talk does not count."""
    confidence = SESSION_BEGINS
    for row in rows:
        if not row.talk:
            confidence = session_ended(confidence, row.final)
        confidence = session_voted(confidence, up=row.up, down=row.down)
    return confidence
