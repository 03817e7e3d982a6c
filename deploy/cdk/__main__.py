"""`python -m deploy.cdk` writes the template anew; with `--check` it compares the committed one with what it would write."""

from __future__ import annotations

import difflib
import itertools
import sys
import tempfile
from pathlib import Path

import yaml
from aws_cdk import App, DefaultStackSynthesizer

from deploy.cdk.stack import ThreadwrightStack

TEMPLATE = Path(__file__).with_name("template.yaml")
HEAD = """\
# Made by `make template` from stack.py. Deploy it as docs/deployment.md says; it needs no CDK and no bootstrap.
"""
SHOWN = 40


def synthesised() -> str:
    """The template as text."""
    with tempfile.TemporaryDirectory(prefix="threadwright-cdk-") as folder:
        app = App(analytics_reporting=False, tree_metadata=False, outdir=folder)
        stack = ThreadwrightStack(
            app, "threadwright",
            description="Threadwright: a Discord bot whose threads have agents, on any number of machines",
            synthesizer=DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
        )  # fmt: skip
        template = app.synth().get_stack_by_name(stack.stack_name).template
    return HEAD + yaml.safe_dump(template, sort_keys=False, width=120, allow_unicode=True)


def main() -> None:
    """Write it, or compare."""
    fresh = synthesised()
    if "--check" not in sys.argv[1:]:
        TEMPLATE.write_text(fresh, "utf-8")
        return
    kept = TEMPLATE.read_text("utf-8").splitlines()
    if differences := list(difflib.unified_diff(kept, fresh.splitlines(), "committed", "fresh", lineterm="", n=1)):
        sys.stdout.write("\n".join(itertools.islice(differences, SHOWN)) + "\n")
        sys.exit(f"{TEMPLATE.name} is not what stack.py makes: run `make template` and commit it")


if __name__ == "__main__":
    main()
