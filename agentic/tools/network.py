"""``network``: ask that commands of this task may reach hosts; a person decides, and the proxy holds them to it."""

from __future__ import annotations

from pydantic import Field, field_validator

from agentic.core.events.execution_events import Exposure, Finding
from agentic.egress.host_list import WEB, patterns, read
from agentic.ports.runtime import Observation
from agentic.tools.base.tool import Arguments, CallContext, Tool

MOST = 10


class NetworkArguments(Arguments):
    """Which hosts, and what for."""

    hosts: tuple[str, ...] = Field(
        min_length=1,
        max_length=MOST,
        description="Names such as example.org or *.example.org; 'packages' for the usual package indexes.",
    )
    why: str = Field(min_length=5, max_length=300, description="What you need of them, for the person who decides.")

    @field_validator("hosts")
    @classmethod
    def _named(cls, written: tuple[str, ...]) -> tuple[str, ...]:
        named = patterns(" ".join(written))
        if WEB in named:
            raise ValueError(
                "name the hosts that you need; that pages of the whole web are read is for an owner to choose"
            )
        return named


async def _run(arguments: NetworkArguments, _: CallContext) -> Observation:
    named = ", ".join(arguments.hosts)
    told = f"Commands of this task may reach {named} from now on."
    return Observation(
        "ok",
        told,
        opened_hosts=arguments.hosts,
        exposure=Exposure(reach=read(arguments.hosts).beyond_packages, fetches=True),
    )


NETWORK_TOOL = Tool(
    name="network",
    description=(
        "Ask the person that commands may reach hosts until this task ends, on ports 80 and 443. Only when the task needs"
        " them: after a refusal that names a host, or before an install. Ask for all you need at once."
    ),
    example=NetworkArguments(hosts=("packages",), why="The tests need pytest, which is not installed."),
    act=_run,
    effect="keyed",
    permission="admin",
    outside="always",
    gates=lambda arguments, _: (Finding(text=f"opens the network to {', '.join(arguments.hosts)}"),),
    opens=lambda arguments: arguments.hosts,
)
