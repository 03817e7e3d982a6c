"""Words for a time: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.schedules.time_rules import BadTiming, next_firing
from bot.schedules.words import LONGEST, read_timing

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 11, 25, 19, 30, tzinfo=UTC)
"""A Wednesday, 20:30 in Berlin."""

MEANT = {
    "every Monday at 9": ("Mon 30 Nov 09:00", "Mon 07 Dec 09:00"),
    "mondays and thursdays at 7": ("Thu 26 Nov 07:00", "Mon 30 Nov 07:00"),
    "every mon, wed and fri at 7:15": ("Fri 27 Nov 07:15", "Mon 30 Nov 07:15"),
    "Weekdays at 8:30": ("Thu 26 Nov 08:30", "Fri 27 Nov 08:30", "Mon 30 Nov 08:30"),
    "every weekday at 8.30": ("Thu 26 Nov 08:30",),
    "weekends at 10": ("Sat 28 Nov 10:00", "Sun 29 Nov 10:00", "Sat 05 Dec 10:00"),
    "every day at 6pm": ("Thu 26 Nov 18:00", "Fri 27 Nov 18:00"),
    "daily at noon": ("Thu 26 Nov 12:00",),
    "daily at 12 am": ("Thu 26 Nov 00:00",),
    "every 2 hours": ("Wed 25 Nov 22:30", "Thu 26 Nov 00:30"),
    "every two hours": ("Wed 25 Nov 22:30",),
    "hourly": ("Wed 25 Nov 21:30", "Wed 25 Nov 22:30"),
    "every 3 days at noon": ("Sat 28 Nov 12:00", "Tue 01 Dec 12:00"),
    "every other Friday at 9": ("Fri 27 Nov 09:00", "Fri 11 Dec 09:00"),
    "every 2 weeks on Friday at 9": ("Fri 27 Nov 09:00", "Fri 11 Dec 09:00"),
    "weekly on friday at 17": ("Fri 27 Nov 17:00", "Fri 04 Dec 17:00"),
    "on the 1st of every month at 9": ("Tue 01 Dec 09:00", "Fri 01 Jan 09:00"),
    "monthly on the 15th at 9am": ("Tue 15 Dec 09:00",),
    "on the last day of every month at 23:30": ("Mon 30 Nov 23:30", "Thu 31 Dec 23:30"),
    "every year on 24 December at 18": ("Thu 24 Dec 18:00",),
    "on 3 December at 14:00": ("Thu 03 Dec 14:00", ""),
    "on the 3rd of December at 2 pm": ("Thu 03 Dec 14:00", ""),
    "December 3rd at 2pm": ("Thu 03 Dec 14:00", ""),
    "3 dec 2027 at 14:00": ("Fri 03 Dec 14:00", ""),
    "2026-12-03 at 14:00": ("Thu 03 Dec 14:00", ""),
    "on 29 February at 9": ("Tue 29 Feb 09:00", ""),
    "on 1 March at 9": ("Mon 01 Mar 09:00", ""),
    "today at 21": ("Wed 25 Nov 21:00", ""),
    "tomorrow at 9": ("Thu 26 Nov 09:00", ""),
    "on Monday at 9": ("Mon 30 Nov 09:00", ""),
    "on Wednesday at 9": ("Wed 02 Dec 09:00", ""),
    "in 20 minutes": ("Wed 25 Nov 20:50", ""),
    "in an hour": ("Wed 25 Nov 21:30", ""),
    "in 2 days": ("Fri 27 Nov 20:30", ""),
    "30 8 * * 1-5": ("Thu 26 Nov 08:30", "Fri 27 Nov 08:30"),
    "0 9 * * MON": ("Mon 30 Nov 09:00",),
}

REFUSED = {
    "": "stops too early",
    "every": "stops too early",
    "every blue moon": "don't understand “blue” after “every”",
    "yesterday at 9": "don't understand “yesterday”",
    "every Monday at 9 sharp": "don't understand “sharp”",
    "every Monday": "at what time?",
    "every Monday at 25": "“25” is no time of day",
    "every Monday at 13pm": "“13pm” is no time of day",
    "every week at 9": "on which day?",
    "every month at 9": "on which day?",
    "on Monday and Friday at 9": "write `every` before them",
    "on 31 February at 9": "February has no day 31",
    "2026-13-45 at 9": "there is no such day",
    "today at 9": "that time has passed",
    "3 dec 2020 at 9": "that time has passed",
    "every 2 minutes": "more often than every 5 minutes",
    "* * * * *": "more often than every 5 minutes",
    "every 0 hours": "5 minutes to 365 days",
    "every 999999 hours": "5 minutes to 365 days",
    "in 999999 weeks": "more than 365 days away",
    "in 3 fortnights": "don't understand “fortnights”",
    "99 9 * * *": "bad minute",
    "0 0 31 2 *": "bad day-of-month",
}


@pytest.mark.parametrize("words", MEANT)
def test_words_mean_these_times(words: str) -> None:
    rule, at = read_timing(words, BERLIN, NOW), NOW
    for expected in MEANT[words]:
        found = next_firing(rule, BERLIN, at)
        assert (f"{found.astimezone(ZoneInfo(BERLIN)):%a %d %b %H:%M}" if found else "") == expected
        at = found or at


@pytest.mark.parametrize("words", REFUSED)
def test_words_that_mean_no_time_are_refused_with_what_stopped_the_reading(words: str) -> None:
    with pytest.raises(BadTiming) as refused:
        read_timing(words, BERLIN, NOW)
    assert REFUSED[words] in str(refused.value)
    named = "I can't take “" in str(refused.value) or "every Monday at 9" in str(refused.value)
    assert named, str(refused.value)


@given(
    st.text(max_size=LONGEST + 5)
    | st.lists(st.sampled_from(" ".join([*MEANT, *REFUSED]).split()), max_size=8).map(" ".join)
)
def test_whatever_is_written_is_a_time_to_come_or_refused_in_words(words: str) -> None:
    found = None
    with contextlib.suppress(BadTiming):
        found = next_firing(read_timing(words, BERLIN, NOW), BERLIN, NOW)
        assert found is not None
    assert found is None or found > NOW


def test_a_long_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadTiming, match="at most"):
        read_timing("every " * 100_000, BERLIN, NOW)
