"""What effects come to, as events.

An answer, a failure and an observation each become the events that the log keeps; the loop appends them and asks
``decide`` again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace

from agentic.core.events.execution_events import (
    Asked,
    BlobRef,
    CheckpointSaved,
    Departure,
    Event,
    Gated,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Moment,
    Option,
    Part,
    Segments,
    ToolFinished,
    ToolStarted,
)
from agentic.core.rules.approvals import allowed_of
from agentic.core.rules.questions import PLAN_OPTIONS
from agentic.core.state.actions import Consult, Think
from agentic.core.state.conversation import Prompt
from agentic.core.state.execution import Call, Execution
from agentic.ports.errors import AgenticError, CallNotBegun, ModelError
from agentic.ports.runtime import (
    Answer,
    LanguageModel,
    Meter,
    Observation,
    Prepared,
    Preview,
    Question,
    Refused,
    Saved,
    Toolbox,
    Used,
)

Blob = tuple[BlobRef, bytes]
INTERRUPTED = "It was ended in the middle, because the bot was restarted. What it had done by then is done."


def answered(request: str, answer: Answer) -> ModelAnswered:
    """A model's answer as the log keeps it."""
    return ModelAnswered(
        request=request,
        blocks=answer.blocks,
        stop=answer.stop,
        usage=answer.usage,
        usd=answer.usd,
        served_by=answer.served_by,
        estimated=answer.estimated,
    )


def requested(request: str, action: Think | Consult, segments: Segments, price: float | None) -> ModelRequested:
    """The intent of a request, with what it may cost at most."""
    return ModelRequested(
        request=request,
        turn=action.turn,
        purpose=action.purpose,
        attempt=action.attempt,
        tier=action.tier,
        model=action.model,
        segments=segments,
        reserved_usd=price or 0.0,
    )


async def asked_model(
    model: LanguageModel,
    request: str,
    action: Think | Consult,
    prompt: Prompt,
    on_text: Callable[[str], None] | None,
    meter: Meter,
) -> ModelAnswered | ModelFailed:
    """Ask once; a provider's failure is an event as an answer is."""
    try:
        answer = await model.answer(
            action.model, prompt, max_tokens=action.max_tokens, timeout=action.seconds, on_text=on_text, meter=meter
        )
    except ModelError as error:
        return failed(request, error, meter.used())
    return answered(request, answer)


def failed(request: str, error: ModelError, used: Used | None = None) -> ModelFailed:
    """A provider's failure as the log keeps it, with what it had used until then; a refusal before an answer costs nothing."""
    came = used is not None and (used.begun or error.failure == "timed_out")
    return with_use(
        ModelFailed(request=request, failure=error.failure, message=error.message, retry_after=error.retry_after),
        used if came else None,
    )


def with_use(failure: ModelFailed, used: Used | None) -> ModelFailed:
    """A failure with what is known of its cost; ``used`` is None where nothing is."""
    if used is None:
        return failure
    return failure.model_copy(update={"begun": used.begun, "usage": used.usage, "usd": used.usd})


def cancelled(execution: Execution, ref: str, used: Used | None = None) -> ModelFailed | ToolFinished | None:
    """The result of an effect that was ended; None where it has one already."""
    if execution.request is not None and execution.request.id == ref:
        return with_use(ModelFailed(request=ref, failure="cancelled", message="cancelled"), used)
    if any(call.id == ref for call in execution.open_calls):
        return ToolFinished(call=ref, outcome="cancelled", preview="Cancelled while it ran.")
    return None


def interrupted(execution: Execution, ref: str, used: Used | None = None) -> ModelFailed | ToolFinished | None:
    """The result of an effect that ends with its process; None for what its next owner begins again."""
    if execution.request is not None and execution.request.id == ref:
        return with_use(
            ModelFailed(request=ref, failure="lost", message="the bot stopped before the answer came"), used
        )
    call = next((known for known in execution.calls_in_flight if known.id == ref), None)
    if call is None or call.intent is None or call.intent.effect != "unkeyed":
        return None
    return ToolFinished(call=ref, outcome="cancelled", preview=INTERRUPTED)


def unacknowledged(execution: Execution, ref: str, used: Used | None = None) -> ModelFailed | ToolFinished | None:
    """The result of an effect that was cancelled and did not say that it ended; None where it has one already."""
    ended = cancelled(execution, ref, used)
    if not isinstance(ended, ToolFinished):
        return ended
    return ToolFinished(call=ref, outcome="unknown", preview="It was cancelled, but did not say that it ended.")


def not_begun(call: str, error: CallNotBegun) -> ToolFinished:
    """The result of a call for which there was no sandbox: it can be tried again when there is one."""
    return ToolFinished(call=call, outcome="failed", preview=f"Not begun, there is no sandbox: {error}")


async def checkpoint(toolbox: Toolbox, moment: Moment, seconds: float) -> tuple[Moment, Saved]:
    """The workspace as it is; what fails or takes too long leaves the work without this way back."""
    try:
        async with asyncio.timeout(seconds):
            return moment, await toolbox.checkpoint()
    except TimeoutError:
        return moment, Saved(problem=f"saving the workspace took longer than {seconds:g} s")
    except AgenticError as error:
        return moment, Saved(problem=str(error))


def saved(execution: Execution, moment: Moment, came_to: Saved) -> CheckpointSaved:
    """What a checkpoint came to, as the log keeps it; nothing that changes the world ran while it was taken."""
    return CheckpointSaved(
        manifest=came_to.manifest,
        through_seq=execution.seq,
        problem=came_to.problem,
        turn=execution.turn.number,
        why=moment,
        not_kept=came_to.not_kept,
    )


async def checkpointed(toolbox: Toolbox, moment: Moment, seconds: float) -> Callable[[Execution], CheckpointSaved]:
    """The same as the log keeps it."""
    came_to = await checkpoint(toolbox, moment, seconds)
    return lambda execution: saved(execution, *came_to)


def gate_of(call: Call, prepared: Prepared) -> str:
    """Why a person must approve a call: by what it did when it ran, or by how it reads; '' where nobody must."""
    before = call.gated
    return before.reason if before is not None and (before.put_back or not prepared.gate) else prepared.gate


def leaving_of(call: Call, leaving: Departure | None) -> Departure | None:
    """Why the rule of two holds a call: as it says now, or as it said when the call was put to a person."""
    return leaving or (call.gated.leaving if call.gated is not None else None)


def is_gated(call: Call, prepared: Prepared, leaving: Departure | None) -> bool:
    """Whether a person must approve a call: for itself, by the rule of two, or because a watcher objects."""
    return bool(gate_of(call, prepared) or leaving or call.objection)


def is_previewed(call: Call, leaving: Departure | None) -> bool:
    """Whether a person has to see what the call would do outside."""
    return leaving is not None or bool(call.objection) or (call.gated is not None and call.gated.publishes)


def held(
    call: Call, prepared: Prepared, state: str, leaving: Departure | None, preview: Preview | Refused
) -> Gated | ToolFinished:
    """A call that a person must approve as it is now; one that could do nothing is not put to anybody."""
    if isinstance(preview, Refused):
        return ToolFinished(call=call.id, outcome="refused", preview=preview.text)
    before, reason = call.gated, preview.gate or gate_of(call, prepared)
    return Gated(
        call=call.id,
        args_sha=prepared.args_sha,
        reason=reason,
        who_may=prepared.who_may,
        state_sha=preview.state or state,
        put_back=before is not None and before.put_back and not preview.shown,
        losses=before.losses if before is not None else (),
        unkept=before is not None and before.unkept,
        hosts=prepared.hosts,
        shown=preview.shown,
        publishes=bool(preview.shown),
        leaving=leaving,
        objection=call.objection,
        findings=prepared.findings if reason == prepared.gate else (),
    )


def permitted(execution: Execution, call: Call, prepared: Prepared, approval: str) -> Prepared:
    """The call with what people have let it do as they saw it, and what they have let the task reach."""
    return replace(
        prepared,
        approved=bool(approval),
        allowed=allowed_of(call),
        shown=frozenset(call.gated.losses) if approval and call.gated is not None and call.gated.reason else None,
        unkept=bool(approval) and call.gated is not None and call.gated.unkept,
        lasting=call.lasting,
        reach=execution.opened_hosts,
        state=call.gated.state_sha if call.gated is not None else "",
        attended=execution.attended,
        replies=call.replies,
        skills=execution.started.skills if execution.started is not None else (),
    )


def intent(call: Call, prepared: Prepared, batch: str, diary: str) -> ToolStarted:
    """The intent of a call; what is begun again keeps the approval it began under."""
    return ToolStarted(
        call=call.id,
        provider_id=call.block.provider_id,
        tool=call.block.tool,
        effect=prepared.effect,
        arguments=prepared.arguments,
        args_sha=prepared.args_sha,
        batch=batch,
        key=prepared.key,
        approval=call.approval or (call.intent.approval if call.intent is not None else ""),
        allowed=allowed_of(call),
        expectation=prepared.expectation,
        diary=diary if prepared.effect == "unkeyed" else "",
    )


def observed(
    call: str, question: str, observation: Observation, seconds: float, args_sha: str = ""
) -> tuple[list[Event], list[Blob]]:
    """The events of an observation, and the blobs they name; ``question`` is the id to give where it asks a person."""
    events: list[Event] = list(observation.events)
    if (back := observation.put_back) is not None:
        left, changes = back.left, observation.changes
        return [
            Gated(
                call=call, args_sha=args_sha, reason=back.destroyed, state_sha=back.state, put_back=True, left=left,
                changes=changes, shown=back.shown, publishes=back.publishes, exposure=observation.exposure, losses=back.losses,
                unkept=back.unkept,
            )
        ], []  # fmt: skip
    if observation.question is not None:
        shown = [blob(observation.output, "text/x-diff")] if observation.output is not None else []
        events.append(asked(call, question, observation.question, shown[0][0] if shown else None))
        return events, shown
    blobs: list[Blob] = []
    if observation.output is not None:
        blobs.append(blob(observation.output))
    events.append(
        ToolFinished(
            call=call,
            outcome=observation.outcome,
            preview=observation.preview,
            output=blobs[0][0] if blobs else None,
            output_ref=observation.output_ref,
            exit_code=observation.exit_code,
            signal=observation.signal,
            changes=observation.changes,
            tests_passed=observation.tests_passed,
            tests_failed=observation.tests_failed,
            tests_skipped=observation.tests_skipped,
            expected=observation.expected,
            attempts=observation.attempts,
            job=observation.job,
            seconds=round(seconds, 3),
            error=observation.error,
            barred=observation.barred,
            place=observation.place,
            refused_hosts=observation.refused_hosts,
            opened_hosts=observation.opened_hosts,
            files=observation.files,
            exposure=observation.exposure,
            conflicts=observation.conflicts,
        )
    )
    return events, blobs


def blob(content: bytes, media: str = "text/plain") -> Blob:
    """Content with its reference."""
    return BlobRef(sha=hashlib.sha256(content).hexdigest(), size=len(content), media=media), content


def asked(call: str, question: str, put: Question, attached: BlobRef | None = None) -> Asked:
    """A tool's question, or its several questions, numbered from 1."""
    parts = tuple(
        Part(id=str(number), text=part.text, options=_options(part.options))
        for number, part in enumerate(put.parts, start=1)
    )
    if put.plan:
        return Asked(question=question, sort="plan", text=put.text, options=PLAN_OPTIONS, call=call)
    return Asked(
        question=question, sort="approaches" if put.approaches else "question", text=put.text,
        options=_options(put.options, put.recommended), parts=parts, call=call, resume=put.resume, attached=attached,
    )  # fmt: skip


def _options(labels: tuple[str, ...], recommended: int = 0) -> tuple[Option, ...]:
    numbered = enumerate(labels, start=1)
    return tuple(Option(id=str(number), label=label, recommended=number == recommended) for number, label in numbered)
