"""The python tool keeps its state."""

from __future__ import annotations

from .bench import Bench


async def test_variables_stay_from_call_to_call(bench: Bench) -> None:
    await bench.call("python", code="x = 41")
    seen = await bench.call("python", code="x + 1")
    assert seen.outcome == "ok"
    assert "42" in seen.preview


async def test_an_exception_is_a_failure_with_its_traceback(bench: Bench) -> None:
    seen = await bench.call("python", code="1 / 0")
    assert seen.outcome == "failed"
    assert "ZeroDivisionError" in seen.preview
    assert "ZeroDivisionError" in seen.error


async def test_a_restart_forgets_variables(bench: Bench) -> None:
    await bench.call("python", code="x = 41")
    seen = await bench.call("python", code="x", restart=True)
    assert "NameError" in seen.preview


async def test_changed_files_are_reported(bench: Bench) -> None:
    seen = await bench.call("python", code="open('made.txt', 'w').write('a')")
    assert "added made.txt" in seen.preview
    assert [change.path for change in seen.changes] == ["made.txt"]


async def test_code_past_its_time_is_interrupted_and_the_variables_stay(bench: Bench) -> None:
    await bench.call("python", code="x = 41")
    seen = await bench.call("python", code="while True: pass", timeout=1)
    assert seen.outcome == "failed"
    assert "timed out" in seen.preview
    assert "41" in (await bench.call("python", code="x")).preview


async def test_an_interpreter_that_dies_is_started_anew_and_the_loss_is_told(bench: Bench) -> None:
    await bench.call("python", code="x = 41")
    died = await bench.call("python", code="import os; os._exit(3)")
    after = await bench.call("python", code="x")
    assert died.outcome == "failed"
    assert "earlier variables are gone" in died.preview + after.preview
    assert "NameError" in after.preview


async def test_long_output_is_cut_and_kept(bench: Bench) -> None:
    seen = await bench.call("python", code="for i in range(3000): print('row', i)")
    assert seen.preview.count("\n") <= 505
    found = await bench.call("read_output", ref=seen.output_ref, pattern="row 1500")
    assert found.preview == "1501: row 1500"
