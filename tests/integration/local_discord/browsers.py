"""Where a Chromium is, for the tests that drive the page."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
