"""Every error this package raises on purpose.

ReflexionError
├── LessonStoreError           lessons could not be read or kept: the execution runs without them
│   ├── LessonStoreUnavailable locked, full, unreadable, or too slow
│   └── LessonStoreTooNew      written by a newer version
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


class ExecutionOpen(ReflexionError):
    """The execution has not finished, so there is nothing to judge."""


class ReflectionUnusable(ReflexionError):
    """A model's text that is not a reflection; the message tells the model what to write instead."""


class JudgementUnusable(ReflexionError):
    """A judge's text that is no reading of the record it was given; the message says why."""
