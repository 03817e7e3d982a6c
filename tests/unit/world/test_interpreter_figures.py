"""The interpreter's program with the real libraries of figures and pictures, over its own two lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from agentic.workspace.picture_header import facts_of

PROGRAM = Path(__file__).parents[3] / "agentic/sandbox/supervisor/processes/interpreter_main.py"
START = f"import runpy, sys; runpy.run_path({str(PROGRAM)!r})['main'](int(sys.argv[1]), int(sys.argv[2]))"
PIECES = (
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(40, 3))\nax.plot([1, 2, 3]); None",
    "from PIL import Image\nImage.new('RGB', (30, 20), 'red')",
    "plt.plot([1]); 1 / 0",
    "plt.get_fignums()",
)


def test_real_figures_and_pictures_are_kept_as_files_within_bounds(tmp_path: Path) -> None:
    (to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(to_read), str(from_write)], cwd=tmp_path, pass_fds=(to_read, from_write),
        stdout=subprocess.PIPE, text=True, env={"MPLCONFIGDIR": str(tmp_path / "cache"), "HOME": str(tmp_path)},
    )  # fmt: skip
    for descriptor in (to_read, from_write):
        os.close(descriptor)
    with os.fdopen(to_write, "w") as requests, os.fdopen(from_read) as answers:
        requests.writelines(f"{json.dumps(piece)}\n" for piece in PIECES)
        requests.flush()
        errors, figures = zip(*(json.loads(answers.readline()) for _ in PIECES), strict=True)
    printed, _ = process.communicate(timeout=60)
    assert [error.splitlines()[-1:] for error in errors] == [[], [], ["ZeroDivisionError: division by zero"], []]
    assert figures == (["figures/figure-1.png"], ["figures/figure-2.png"], [], ["figures/figure-3.png"])
    sizes = [facts_of((tmp_path / name).read_bytes()) for [name] in (figures[0], figures[1])]
    assert [(facts.width, facts.height) for facts in sizes if facts] == [(2000, 150), (30, 20)]
    assert "<PIL.Image.Image" in printed
    assert "[1]" in printed, "what is drawn is closed after the value was looked at"
