"""One measured process of mini-swe-agent, by its own interpreter: ``mini_swe_agent.py URL TURNS MODEL``.

Its own agent and model classes over LiteLLM, without streaming and without saving anything; the tool is in the process,
as in the other loops.
"""

import json
import os
import sys
import time

os.environ.update(MSWEA_SILENT_STARTUP="1", MSWEA_COST_TRACKING="ignore_errors", LITELLM_LOCAL_MODEL_COST_MAP="True")
os.environ["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] = "1"

from minisweagent.agents.default import DefaultAgent
from minisweagent.models.litellm_model import LitellmModel

OUTPUT = "0123456789abcdefghijklmnopqrstuvwxyz and some words\n" * 39


class InProcess:
    """Answers 2 kB at once."""

    def execute(self, action, cwd=""):
        """The same output for each command."""
        return {"output": OUTPUT, "returncode": 0, "exception_info": ""}

    def get_template_vars(self, **kwargs):
        """Nothing of interest."""
        return {}

    def serialize(self):
        """Nothing to keep."""
        return {}


def run(url, turns, name):
    """So many requests."""
    base = url if name.startswith("anthropic/") else f"{url}/v1"
    model = LitellmModel(model_name=name, model_kwargs={"api_base": base, "api_key": "bench", "max_tokens": 1000})
    agent = DefaultAgent(
        model,
        InProcess(),
        system_template="You are an agent.",
        instance_template="{{task}}",
        step_limit=turns,
        cost_limit=0,
    )
    agent.run("Begin.")
    assert agent.n_calls == turns, f"{agent.n_calls} requests instead of {turns}"


if __name__ == "__main__":
    address, count, model_name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    run(address, 5, model_name)
    began = time.process_time()
    run(address, count, model_name)
    print(json.dumps({"cpu_ms": (time.process_time() - began) / count * 1e3, "gaps_ms": []}))
