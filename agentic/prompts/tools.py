"""The part of the system prompt about tools: the meaning of each level of permission, and good calls as examples.

Reason: models copy what they are shown. An example says more than a description about what a good call looks like: a
command that stops at the first error, a search before a read, an edit with enough of the text around it, evidence with
a finish. They are in the system text and not with the tools, so that they can be read beside each other, and they are
chosen by the tools that exist, so that the text stays the same all through an execution.
"""

PERMISSIONS = {
    "read": "look and change nothing",
    "write": "change files of the workspace",
    "execute": "run something in the sandbox",
    "admin": "reach beyond the workspace; a person is asked first",
}

EXAMPLES = {
    "codebase_search": '{"query": "where is the price of a cart rounded"}',
    "grep": '{"pattern": "def total\\\\(", "glob": "*.py", "context": 2}',
    "read": '{"path": "src/cart.py", "offset": 40, "limit": 60}',
    "edit": '{"path": "src/cart.py", "old": "    return price", "new": "    return round(price, 2)"}',
    "shell": '{"command": "python -m pytest -q tests/test_cart.py", "expectation": "3 tests pass"}',
    "python": '{"code": "import json; rows = json.load(open(\'data.json\')); len(rows)"}',
    "note": '{"text": "The tests need the variable TZ=UTC."}',
    "finish": (
        '{"answer": "The total is rounded now.", "claims": [{"text": "The tests pass", "command": "python -m pytest -q", '
        '"exit_code": 0}]}'
    ),
}
