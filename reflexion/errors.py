"""Every error this package raises on purpose.

ReflexionError
├── LessonStoreError           lessons could not be read or kept: the execution runs without them
│   ├── LessonStoreUnavailable locked, full, unreadable, or too slow
│   └── LessonStoreTooNew      written by a newer version
├── LessonRefused              the store works, and says no
│   ├── LessonOutdated         somebody changed the lesson since it was looked at
│   └── LessonOutOfScope       it would reach further than whoever wrote it may
├── ExecutionOpen              an execution is judged once it has finished
├── ReflectionUnusable         what the model wrote is not a reflection
└── JudgementUnusable          what the judge wrote is no reading of this record
"""

from __future__ import annotations


class ReflexionError(Exception):
    """The root: everything this package raises on purpose."""


class LessonStoreError(ReflexionError):
    """Lessons could not be read or kept."""


class LessonStoreUnavailable(LessonStoreError):
    """The lesson store does not answer now; nothing was kept."""


class LessonStoreTooNew(LessonStoreError):
    """The lesson store was written by a newer version of Threadwright."""


class LessonRefused(ReflexionError):
    """The lesson store works, and does not do this; the message says why and what to do."""


class LessonOutdated(LessonRefused):
    """The lesson was changed since the copy was read that this change rests on."""


class LessonOutOfScope(LessonRefused):
    """The lesson would reach another server, another thread, or all servers."""


class ExecutionOpen(ReflexionError):
    """The execution has not finished, so there is nothing to judge."""


class ReflectionUnusable(ReflexionError):
    """A model's text that is not a reflection; the message tells the model what to write instead."""


class JudgementUnusable(ReflexionError):
    """A judge's text that is no reading of the record it was given; the message says why."""
