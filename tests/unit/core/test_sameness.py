"""When two calls, or what came of them, are the same."""

from __future__ import annotations

import pytest

from agentic.core.fold.loop_detection import exact, says_something, says_the_same, step_of
from tests.unit.core.working import finished


def test_prose_beside_a_call_makes_no_other_call_of_it() -> None:
    one = step_of("shell", {"command": "ls  -l", "reasoning": "because", "timeout": 3}, finished("x"))
    two = step_of("shell", {"command": "ls -l", "expectation": "files"}, finished("x"))
    assert one.call == two.call
    assert one.call != step_of("shell", {"command": "ls"}, finished("x")).call


def test_processes_are_the_same_whatever_their_numbers() -> None:
    one, two = (step_of("shell", {"command": "ps aux"}, finished(f"agent {n} 0.0 node")) for n in (812, 4))
    assert exact(one.text) == exact(two.text)


def test_a_file_read_by_another_tool_is_the_same_file() -> None:
    read = step_of("look", {"path": "a"}, finished("1\tdef a():\n2\t    pass"))
    shown = step_of("shell", {"command": "cat a"}, finished("exit 0 after 0.3 s\ndef a():\n    pass"))
    assert exact(read.text) == exact(shown.text)


def test_of_long_results_the_beginning_and_the_end_are_compared() -> None:
    long = step_of("look", {}, finished("a" * 600 + "middle" + "z" * 600))
    other = step_of("look", {}, finished("a" * 600 + "MIDDLE!" + "z" * 600))
    assert long.text == other.text
    assert len(long.text) < 700


def test_a_failure_without_a_word_says_nothing() -> None:
    assert not says_something(finished("", "failed", "exit 1"))
    assert not says_something(finished("", "failed", ""))
    assert says_something(finished("", "failed", "exit 1\nno rule"))
    assert says_something(finished("", "failed", "it broke"))


def test_long_calls_are_the_same_only_where_all_of_them_is() -> None:
    one, two, same = (step_of("shell", {"command": "x" * 500 + end}, finished("x")).call for end in ("a", "b", "a"))
    assert one == same != two
    assert len(one) < 40


def test_trouble_is_seen_at_the_end_of_a_long_failure_and_waiting_in_any_case() -> None:
    long = "compiled one\n" * 3_000
    assert step_of("shell", {}, finished(long + "HTTP 503 Service Unavailable", "failed", "exit 1\nx")).trouble
    assert not step_of("shell", {}, finished(long, "failed", "exit 1\nx")).trouble
    assert step_of("shell", {"command": "curl x"}, finished("QUEUED")).waits


@pytest.mark.parametrize(
    "said",
    [
        "HTTP/1.1 429\nretry-after: 3",
        "curl: (22) The requested URL returned error: 503",
        "requests.exceptions.HTTPError: 503 Server Error for url: http://api/x",
        '{"status": 502, "path": "/x"}',
        "<Response [504]>",
        "Request failed with status code 429",
        "got 502 from the proxy",
    ],
)
def test_a_status_of_a_server_is_trouble(said: str) -> None:
    assert step_of("shell", {}, finished(said, "failed", "exit 1\nx")).trouble


@pytest.mark.parametrize(
    "said",
    [
        "502 passed, 1 failed in 3.2s",
        "502 tests passed, 1 failed",
        "ERROR: 503 files could not be read",
        "src/cart.py:429: AssertionError",
        "FAILED tests/test_a.py::test_b[504]",
        "assert 502 == 503",
        "expected 200, got 502 rows",
    ],
)
def test_a_number_alone_is_no_status_of_a_server(said: str) -> None:
    assert not step_of("shell", {}, finished(said, "failed", "exit 1\nx")).trouble


def test_failures_are_told_apart_by_each_word_of_them() -> None:
    failed = step_of("shell", {}, finished("", "failed", "exit 1\n=== a"))
    assert says_the_same(failed, failed.text)
    assert not says_the_same(failed, failed.text + "=")
    assert says_the_same(step_of("look", {}, finished("=== done in 3 s")), "====== done in 4 s")
