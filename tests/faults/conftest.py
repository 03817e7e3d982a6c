"""What earlier files of the same process left is collected before the rows of a file are tried."""

from __future__ import annotations

import gc
import warnings

import pytest


@pytest.fixture(autouse=True, scope="module")
def _collected() -> None:
    """Collect loops and coroutines of simulated processes here, and not in the midst of a row that imports much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
