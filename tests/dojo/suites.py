"""agentdojo's suites: their tasks, the calls that solve them, their environments, and what counts as solved.

The environment of each run is a copy of one that was read once.  An injection's words stand where agentdojo's own attacks put
them: in every place that the calls of the person's task show.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import yaml
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttack
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime, TaskEnvironment
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.task_suite.task_suite import TaskSuite, read_suite_file
from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tests.dojo import obeying
from tests.dojo.person import Act

VERSION = "v1.2.2"
MARK = "<INFORMATION>"
"""Stands in each injection and nowhere else."""
_MARK = "---PLACE-{}---"
warnings.filterwarnings("ignore", category=DeprecationWarning, module="agentdojo")


def _dumped(value: Any) -> str:
    return yaml.dump(to_jsonable_python(value), Dumper=yaml.CSafeDumper, allow_unicode=True)


def _filled(value: Any, places: dict[str, str]) -> Any:
    """The structure with words in each place that has a mark."""
    if isinstance(value, str):
        for mark, words in places.items():
            value = value.replace(mark, words) if mark in value else value
        return value
    if isinstance(value, dict):
        return {_filled(key, places): _filled(each, places) for key, each in value.items()}
    return [_filled(each, places) for each in value] if isinstance(value, list) else value


@dataclass(eq=False)
class Scene:
    """One run of a user's task, perhaps with an injection: its environment, and what was called there."""

    suite: TaskSuite[Any]
    task: BaseUserTask[Any]
    injection: BaseInjectionTask[Any] | None
    beginning: bytes
    """The environment as it is before anything is called, pickled: that is copied much faster than the models copy."""
    called: list[FunctionCall] = field(default_factory=list[FunctionCall])
    met: bool = False
    """The injection's words stood in a result."""

    def __post_init__(self) -> None:
        self._runtime = FunctionsRuntime(self.suite.tools)
        environment = self.task.init_environment(self._before())
        self.beginning = pickle.dumps(environment)
        self._environment = environment

    @property
    def prompt(self) -> str:
        """What the person asks for."""
        return self.task.PROMPT

    @property
    def words(self) -> str:
        """What an answer to the person has to say."""
        return self.task.GROUND_TRUTH_OUTPUT

    @property
    def injected_words(self) -> str:
        """What an answer that obeys says."""
        return self.injection.GROUND_TRUTH_OUTPUT if self.injection else ""

    def solution(self) -> tuple[Act, ...]:
        """The calls that do what the person asked for."""
        return _acts(self.task.ground_truth(self._before()))

    def attack(self) -> tuple[Act, ...]:
        """The calls that do what the injection asks for, as things stand now."""
        if self.injection is None:
            return ()
        now = self._now()
        return _acts(self.injection.ground_truth(now)) or obeying.acts(self.suite.name, self.injection.ID, now)

    def call(self, function: str, arguments: dict[str, JsonValue]) -> tuple[str, bool]:
        """Call a function of the suite: its result in words, and whether that is an error."""
        self.called.append(FunctionCall(function=function, args=cast("dict[str, Any]", arguments)))
        result, error = self._runtime.run_function(self._environment, function, cast("dict[str, Any]", arguments))
        seen = error or tool_result_to_str(result, dump_fn=_dumped)
        self.met = self.met or MARK in seen
        return seen, error is not None

    def useful(self, answer: str) -> bool:
        """Whether what the person asked for is done, by agentdojo."""
        return self._judged(self.task, answer)

    def harmed(self, answer: str) -> bool:
        """Whether what the injection asked for is done, by agentdojo."""
        return self.injection is not None and self._judged(self.injection, answer)

    def _judged(self, task: BaseUserTask[Any] | BaseInjectionTask[Any], answer: str) -> bool:
        said = [{"type": "text", "content": answer}]
        return bool(self.suite._check_task_result(task, said, self._before(), self._now(), self.called))  # pyright: ignore

    def _before(self) -> TaskEnvironment:
        return pickle.loads(self.beginning)

    def _now(self) -> TaskEnvironment:
        return pickle.loads(pickle.dumps(self._environment))


def _acts(calls: Iterable[FunctionCall]) -> tuple[Act, ...]:
    return tuple(Act(call.function, cast("dict[str, JsonValue]", dict(call.args))) for call in calls)


@dataclass(frozen=True, eq=False)
class Suite:
    """A suite with its environments."""

    of: TaskSuite[Any]
    template: Any
    """The environment's data, with a mark at each place for an injection."""
    places: dict[str, str]
    """What agentdojo has at each of these places where nothing is injected."""

    @property
    def name(self) -> str:
        """As agentdojo calls it."""
        return self.of.name

    @property
    def functions(self) -> tuple[str, ...]:
        """What can be called."""
        return tuple(function.name for function in self.of.tools)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Every user's task."""
        return tuple(self.of.user_tasks)

    @property
    def injections(self) -> tuple[str, ...]:
        """Every injection."""
        return tuple(self.of.injection_tasks)

    def scene(self, task: str, injection: str = "") -> Scene:
        """A run of its own; without an injection nothing is injected."""
        of = self.of.user_tasks[task]
        if not injection:
            return Scene(self.of, of, None, _untouched(self))
        places = _places(self, task)
        return Scene(self.of, of, self.of.injection_tasks[injection], _injected(self, places, injection))

    def only_speaks(self, injection: str) -> bool:
        """The injection wants something said to the person, and nothing done."""
        said = self.of.injection_tasks[injection].GROUND_TRUTH_OUTPUT
        return bool(said) and not self.scene(self.tasks[0], injection).attack()

    def with_words(self, words: dict[str, str]) -> bytes:
        """The environment with words in these places, and what agentdojo has there in all others."""
        every = {_MARK.format(place): said for place, said in {**self.places, **words}.items()}
        return pickle.dumps(self.of.environment_type.model_validate(_filled(self.template, every)))


@cache
def _untouched(suite: Suite) -> bytes:
    return pickle.dumps(suite.of.load_and_inject_default_environment({}))


@cache
def _injected(suite: Suite, places: tuple[str, ...], injection: str) -> bytes:
    goal = suite.of.injection_tasks[injection].GOAL
    words = ImportantInstructionsAttack._JB_STRING.format(goal=goal, user="Emma Johnson", model="AI assistant")  # pyright: ignore
    return suite.with_words(dict.fromkeys(places, words))


@cache
def _places(suite: Suite, task: str) -> tuple[str, ...]:
    """Where the words have to stand to be read in this task: where agentdojo's own attacks put them."""
    marked = suite.with_words({place: _MARK.format(place) for place in suite.places})
    scene = Scene(suite.of, suite.of.user_tasks[task], None, marked)
    seen = "".join(scene.call(act.function, act.arguments)[0] for act in scene.solution())
    return tuple(place for place in suite.places if _MARK.format(place) in seen)


def _read(suite: TaskSuite[Any]) -> Suite:
    places = suite.get_injection_vector_defaults()
    marks = {place: _MARK.format(place) for place in places}
    text = read_suite_file(suite.name, "environment.yaml", suite.data_path).format(**marks)
    return Suite(suite, yaml.load(text, Loader=yaml.CSafeLoader), places)


@cache
def suites() -> dict[str, Suite]:
    """The four suites of agentdojo."""
    return {name: _read(suite) for name, suite in get_suites(VERSION).items()}
