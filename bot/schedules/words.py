"""Words for a time, such as “every Monday at 9”, read into a rule; pure.

Word by word from the left, so that what is not understood can be named. A cron line is taken as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.schedules.time_rules import BadTiming, Cron, Days, Every, Once, Timing, checked, cron, instants

LONGEST = 120
"""Characters that are read."""
FURTHEST = 365
"""Days, or their minutes, that a step or a single time may be away."""
UNDERSTOOD = (
    "I understand, for example: `every Monday at 9`, `weekdays at 8:30`, `every day at 6pm`, `every 2 hours`, "
    "`every 3 days at noon`, `on the 1st of every month at 9`, `on 3 December at 14:00`, `tomorrow at 9`, "
    "`in 20 minutes`, or a cron line such as `30 8 * * 1-5`."
)

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MINUTES: Mapping[str, int] = {"minute": 1, "min": 1, "hour": 60, "h": 60, "hr": 60}
_LONG: Mapping[str, int] = {"day": 1, "week": 7}
_SHORT: Mapping[str, str] = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SETS: Mapping[str, str] = {"weekday": "1-5", "workday": "1-5", "weekend": "0,6"}
_CLOCK = re.compile(r"(\d{1,2})(?:[:.h](\d{2}))?(am|pm|h)?")
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?")
_YEAR = re.compile(r"20\d\d")
_CRON = re.compile(r"[\d*][\d*,/-]*")


class NotUnderstood(BadTiming):
    """It is no time that is understood; the message says what stopped the reading, and what there is."""


def read_timing(text: str, zone: str, now: datetime) -> Timing:
    """Return the rule that the words say, as seen in ``zone`` at ``now``. Raises ``BadTiming``."""
    if len(text) > LONGEST:
        raise NotUnderstood(f"A time has at most {LONGEST} characters. {UNDERSTOOD}")
    fields = text.split()
    try:
        if len(fields) == 5 and all(_CRON.fullmatch(field) for field in fields[:2]):
            return checked(cron(text), zone, now)
        words = text.lower().replace(",", " ").split()
        return checked(_Reading(words, zone, now).timing(), zone, now)
    except NotUnderstood:
        raise
    except BadTiming as bad:
        raise BadTiming(f"I can't take “{text}”: {bad}.") from None
    except OverflowError:
        raise BadTiming(f"I can't take “{text}”: that is too far away.") from None


class _Reading:
    """The words that are left, and what stands in the zone's calendar."""

    def __init__(self, words: list[str], zone: str, now: datetime) -> None:
        self._words, self._left, self._zone, self._now = words, list(words), zone, now
        self._today = now.astimezone(ZoneInfo(zone)).date()

    def timing(self) -> Timing:
        """Read all of it."""
        self._skip("on")
        word = self._peek()
        if word == "in":
            return self._after()
        if word in _SHORT:
            self._left[:1] = ["every", _SHORT[word]]
        if self._skip("every", "each"):
            return self._every()
        if (numbers := self._weekdays(plural=True)) is not None:
            return self._at_days(numbers)
        return self._on()

    # --- again and again ---

    def _every(self) -> Timing:
        step = 2 if self._skip("other", "second") else self._number()
        unit = self._peek().removesuffix("s")
        if unit in _MINUTES:
            self._take()
            self._end()
            minutes = (1 if step is None else step) * _MINUTES[unit]
            if not 0 < minutes <= FURTHEST * 24 * 60:
                raise BadTiming(f"a step has 5 minutes to {FURTHEST} days")
            return Every(minutes=minutes, since=self._now.replace(second=0, microsecond=0))
        if unit == "day" and step in (None, 1):
            self._take()
            return self._at_days("*")
        if unit in _LONG:
            self._take()
            return self._long((1 if step is None else step) * _LONG[unit])
        if unit in ("month", "year") and step in (None, 1):
            self._take()
            return self._of_months(unit)
        numbers = self._weekdays()
        if numbers is None:
            raise self._lost()
        return self._at_days(numbers) if step in (None, 1) else self._long(7 * (step or 1), numbers)

    def _long(self, days: int, numbers: str | None = None) -> Timing:
        """So many days, perhaps from a day of the week on."""
        self._skip("on")
        if numbers is None and days % 7 == 0:
            numbers = self._weekdays()
            if numbers is None and days == 7:
                raise BadTiming("on which day? Write `every Monday at 9`, for example")
        if numbers is not None and days == 7:
            return self._at_days(numbers)
        if numbers is not None and not numbers.isdecimal():
            raise BadTiming("only one day of the week goes with that")
        if not 0 < days <= FURTHEST:
            raise BadTiming(f"a step has 5 minutes to {FURTHEST} days")
        since = self._today if numbers is None else self._next_day(int(numbers))
        return Days(days=days, at=self._time(), since=since)

    def _of_months(self, unit: str) -> Timing:
        self._skip("on")
        if unit == "year":
            day, month = self._day_and_month()
            at = self._time()
            return cron(f"{at.minute} {at.hour} {day} {month} *")
        return self._on_the(self._day_of_month())

    def _on_the(self, day: str) -> Cron:
        at = self._time()
        return cron(f"{at.minute} {at.hour} {day} * *")

    def _at_days(self, numbers: str) -> Cron:
        at = self._time()
        return cron(f"{at.minute} {at.hour} * * {numbers}")

    # --- once ---

    def _after(self) -> Once:
        self._take()
        many = self._number()
        unit = self._peek().removesuffix("s")
        if self._peek() in ("a", "an"):
            self._take()
            many, unit = 1, self._peek().removesuffix("s")
        minutes = _MINUTES.get(unit) or 24 * 60 * _LONG.get(unit, 0)
        if many is None or not minutes:
            raise self._lost()
        self._take()
        self._end()
        if many * minutes > FURTHEST * 24 * 60:
            raise BadTiming(f"it is more than {FURTHEST} days away")
        return Once(at=self._now + timedelta(minutes=many * minutes))

    def _on(self) -> Timing:
        word = self._peek()
        if word in ("today", "tomorrow"):
            self._take()
            return self._once(self._today + timedelta(days=word == "tomorrow"))
        if iso := _ISO.fullmatch(word):
            self._take()
            return self._once(self._date(int(iso[1]), int(iso[2]), int(iso[3])))
        if (numbers := self._weekdays()) is not None:
            if not numbers.isdecimal():
                raise BadTiming("for several days write `every` before them")
            return self._on_weekday(int(numbers))
        if self._skip("the"):
            return self._on_the_day()
        day, month = self._day_and_month()
        year = int(self._take()) if _YEAR.fullmatch(self._peek()) else 0
        at = self._time()
        if year:
            return self._at(self._date(year, month, day), at)
        for year in range(self._today.year, self._today.year + 9):  # the 29th of February comes within eight
            try:
                found = self._at(date(year, month, day), at)
            except ValueError:
                continue
            if found.at > self._now:
                return found
        raise BadTiming(f"{_MONTHS[month - 1].capitalize()} has no day {day}")

    def _on_the_day(self) -> Timing:
        """“the 1st of every month”, “the 3rd of December”."""
        if self._words_ahead("month"):
            return self._on_the(self._day_of_month())
        self._left.insert(0, "the")
        day, month = self._day_and_month()
        self._left[:0] = [str(day), _MONTHS[month - 1]]
        return self._on()

    def _on_weekday(self, number: int) -> Once:
        at = self._time()
        found = self._at(self._next_day(number), at)
        return found if found.at > self._now else self._at(self._next_day(number) + timedelta(days=7), at)

    def _once(self, day: date) -> Once:
        return self._at(day, self._time())

    def _at(self, day: date, at: time) -> Once:
        return Once(at=instants(datetime.combine(day, at), self._zone)[0].astimezone(UTC))

    # --- words ---

    def _time(self) -> time:
        """The time of day, with which everything ends."""
        self._skip("at")
        if not self._left:
            raise BadTiming("at what time? Write `at 9`, `at 14:30` or `at noon` after it")
        word = self._take()
        if word in ("noon", "midnight"):
            self._end()
            return time(12 if word == "noon" else 0)
        if self._peek() in ("am", "pm"):
            word += self._take()
        self._skip("o'clock", "h", "uhr")
        self._end()
        clock = _CLOCK.fullmatch(word)
        hour, minute = (int(clock[1]), int(clock[2] or 0)) if clock else (24, 0)
        if clock and clock[3] in ("am", "pm"):
            hour = hour % 12 + 12 * (clock[3] == "pm") if 1 <= hour <= 12 else 24
        if hour > 23 or minute > 59:
            raise BadTiming(f"“{word}” is no time of day")
        return time(hour, minute)

    def _weekdays(self, *, plural: bool = False) -> str | None:
        """Days of the week as cron has them; None, and nothing is read, where none stands there."""
        if (numbers := _set_of(self._peek())) is not None:
            self._take()
            return numbers
        if plural and not self._peek().endswith("days"):
            return None
        found: list[int] = []
        while (number := _day_of(self._peek())) is not None:
            found.append(number)
            self._take()
            self._skip("and")
        return ",".join(map(str, sorted(set(found)))) if found else None

    def _day_of_month(self) -> str:
        """“the 1st”, “the last day”, perhaps with “of every month” behind it."""
        self._skip("the")
        if self._skip("last"):
            self._skip("day")
            day = "L"
        else:
            self._skip("day")
            nth = _NTH.fullmatch(self._peek())
            if nth is None:
                raise BadTiming("on which day? Write `on the 1st of every month at 9`, for example")
            self._take()
            day = nth[1]
        if self._skip("of"):
            self._skip("every", "each", "the")
            if not self._skip("month"):
                raise self._lost()
        return day

    def _day_and_month(self) -> tuple[int, int]:
        """“3 December”, “December 3rd”, “the 3rd of December”."""
        self._skip("the")
        month = _month_of(self._peek())
        if month:
            self._take()
            self._skip("the")
        nth = _NTH.fullmatch(self._peek())
        if nth is None:
            raise self._lost()
        self._take()
        if not month:
            self._skip("of")
            month = _month_of(self._peek())
            if not month:
                raise self._lost()
            self._take()
        return int(nth[1]), month

    def _date(self, year: int, month: int, day: int) -> date:
        try:
            return date(year, month, day)
        except ValueError:
            raise BadTiming("there is no such day") from None

    def _next_day(self, number: int) -> date:
        """The next day of the week with this number, today included."""
        return self._today + timedelta(days=(number - self._today.isoweekday()) % 7)

    def _number(self) -> int | None:
        word = self._peek()
        if word.isascii() and word.isdigit() and len(word) <= 6:
            return int(self._take())
        if word in _NUMBERS:
            return _NUMBERS.index(self._take()) + 1
        return None

    def _peek(self) -> str:
        return self._left[0] if self._left else ""

    def _take(self) -> str:
        return self._left.pop(0)

    def _skip(self, *words: str) -> bool:
        found = self._peek() in words and bool(self._left)
        if found:
            self._take()
        return found

    def _words_ahead(self, word: str) -> bool:
        return word in self._left

    def _end(self) -> None:
        if self._left:
            raise self._lost()

    def _lost(self) -> NotUnderstood:
        read = len(self._words) - len(self._left)
        if not self._left:
            return NotUnderstood(f"“{' '.join(self._words)}” stops too early. {UNDERSTOOD}")
        before = f" after “{' '.join(self._words[:read])}”" if read > 0 else ""
        return NotUnderstood(f"I don't understand “{self._peek()}”{before}. {UNDERSTOOD}")


def _day_of(word: str) -> int | None:
    """The number of a day of the week, 0 for Sunday; None where the word is none."""
    word = word.removesuffix("s") if word.endswith("days") else word
    if len(word) < 3:
        return None
    return next((number for number, day in enumerate(_DAYS) if word in (day, day[:3]) or day[:4] == word), None)


def _set_of(word: str) -> str | None:
    return _SETS.get(word.removesuffix("s"))


def _month_of(word: str) -> int:
    """1 to 12, 0 where the word is no month."""
    word = word.removesuffix(".")
    return next((number for number, month in enumerate(_MONTHS, 1) if word in (month, month[:3])), 0)
