"""The agent: how it decides, what it acts on, and where its log is kept.  Knows nothing of Discord."""

import sys

from agentic.timeouts import mend_timeouts

if sys.version_info < (3, 11, 4):
    mend_timeouts()
