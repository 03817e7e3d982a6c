"""The python tool keeps its state."""

from __future__ import annotations

from .bench import Bench


async def test_an_exception_is_a_failure_with_its_traceback(bench: Bench) -> None:
    seen = await bench.call("python", code="1 / 0")
    assert seen.outcome == "failed"
    assert "ZeroDivisionError" in seen.preview
    assert "ZeroDivisionError" in seen.error


async def test_a_restart_forgets_variables(bench: Bench) -> None:
    await bench.call("python", code="x = 41")
    seen = await bench.call("python", code="x", restart=True)
    assert "NameError" in seen.preview


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


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PYPLOT = f"""\
import base64
shown = {{}}
class Figure:
    def get_size_inches(self): return (6.4, 4.8)
    def savefig(self, file, format, dpi): file.write(base64.b64decode({PNG!r}))
def get_fignums(): return sorted(shown)
def figure(number=None): return shown.setdefault(number or len(shown) + 1, Figure())
def close(which): shown.clear()
"""
"""What of the library for figures is asked of it; the real one is tried beside this sandbox, which has none."""


async def test_figures_and_displayed_pictures_come_back_as_pictures(bench: Bench) -> None:
    plain = await bench.call("python", code="1 + 1")
    assert (plain.files, plain.changes) == ((), ())
    bench.put("matplotlib/__init__.py", "")
    bench.put("matplotlib/pyplot.py", PYPLOT)
    code = "import os; os.chdir('/tmp')\nimport matplotlib.pyplot as plt\nplt.figure()\nplt.figure()\n'drawn'"
    seen = await bench.call("python", code=f"import sys; sys.path.insert(0, '/workspace')\n{code}")
    assert [(file.path, file.media, file.width, file.height) for file in seen.files] == [
        (f"figures/figure-{number}.png", "image/png", 1, 1) for number in (1, 2)
    ]
    assert "It drew figures/figure-1.png (1 × 1), figures/figure-2.png (1 × 1)." in seen.preview
    assert {change.path for change in seen.changes if change.path.startswith("figures/")} == {
        file.path for file in seen.files
    }
    assert all((bench.workspace / file.path).is_file() for file in seen.files)
    assert (await bench.call("python", code="plt.get_fignums()")).files == (), "drawn once"

    picture = f"import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode({PNG!r})\n"
    shown = await bench.call("python", code=f"{picture}display(P(), 'words')\nP()")
    assert [file.path for file in shown.files] == ["figures/figure-3.png", "figures/figure-4.png"]
    assert "'words'" in shown.preview
    many = await bench.call("python", code="for _ in range(9): display(P())")
    assert (len(many.files), many.preview.count("A picture is not shown")) == (6, 3)
    huge = await bench.call("python", code="P._repr_png_ = lambda self: b'x' * 4_000_000\ndisplay(P())")
    assert (huge.files, "it is too large" in huge.preview) == ((), True)
    lies = await bench.call("python", code="P._repr_png_ = lambda self: b'no picture'\ndisplay(P())")
    assert (lies.outcome, lies.files) == ("ok", ())
    bench.put(".aiignore", "figures/\n")
    hidden = await bench.call("python", code="plt.figure(); None")
    assert hidden.files == ()
