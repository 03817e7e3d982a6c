"""What MiniStack is known not to do, each with the reason why it is no harm to our tests."""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, str] = {
    "numbers_keep_38_digits": "MiniStack keeps about 17. We write whole numbers of at most 16 digits, and times.",
    "a_checksum_is_kept": "MiniStack looks at a checksum and does not send it back; neither do we read it.",
    "a_part_that_is_too_small_is_refused": "All parts that we upload have 16 MB, but for the last.",
    "dead_letters_are_sent_back": "No test sends dead letters back; the runbook does, on AWS.",
}
"""By the name of the check."""
