"""An MCP server with one tool that leaves a line, for the bots that are killed: ``FILE`` is the text of an `mcp.json` with it.

It is a program of the standard library on one line of arguments, for each thread's sandbox has a workspace of its own.
"""

from __future__ import annotations

import json
from typing import Final

from tests.chaos.mind import CALLS

_PROGRAM: Final = f"""
import json, sys
TOOL = {{"name": "append", "description": "Leaves a line.",
        "inputSchema": {{"type": "object", "properties": {{"line": {{"type": "string"}}}}, "required": ["line"]}}}}
for received in sys.stdin:
    message = json.loads(received)
    method, params = message.get("method", ""), message.get("params") or {{}}
    if "id" not in message:
        continue
    said = {{"jsonrpc": "2.0", "id": message["id"]}}
    if method == "initialize":
        said["result"] = {{"protocolVersion": params["protocolVersion"], "capabilities": {{"tools": {{}}}},
                          "serverInfo": {{"name": "lines", "version": "1"}}}}
    elif method == "tools/list":
        said["result"] = {{"tools": [TOOL]}}
    elif method == "tools/call":
        with open({CALLS!r}, "a") as lines:
            lines.write(params["arguments"]["line"] + chr(10))
        said["result"] = {{"content": [{{"type": "text", "text": "done"}}]}}
    else:
        said["error"] = {{"code": -32601, "message": "Method not found"}}
    print(json.dumps(said), flush=True)
"""
FILE: Final = json.dumps({"mcpServers": {"lines": {"command": "python3", "args": ["-c", _PROGRAM]}}})
