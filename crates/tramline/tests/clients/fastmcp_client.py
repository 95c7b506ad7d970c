"""Talks to a server through FastMCP's client: lists its tools, makes the calls it is told to, prints what came back.

The argument is a JSON list of talks: {"stdio": {"command", "args", "cwd"}} or {"http": URL, "token"}, with "mode" and "calls".
With "decide" the user who is asked decides so.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def server(spec):
    if "stdio" in spec:
        return StdioTransport(**spec["stdio"], keep_alive=False)
    token = spec.get("token")
    return StreamableHttpTransport(spec["http"], headers={"Authorization": "Bearer " + token} if token else None)


def user(spec):
    if "decide" not in spec and "fill" not in spec:
        return None

    async def answer(message, response_type, params, context):
        return spec.get("fill") or {"decision": spec["decide"]}

    return answer


async def call(client, wanted):
    progress = []

    async def note(done, total, message):
        progress.append({"done": done, "message": message})

    result = await client.call_tool(
        wanted["tool"], wanted["arguments"], progress_handler=note, raise_on_error=False
    )
    return {
        "is_error": result.is_error,
        "structured": result.structured_content,
        "text": [block.text for block in result.content],
        "progress": progress,
    }


async def talk(spec):
    async with Client(server(spec), mode=spec["mode"], elicitation_handler=user(spec)) as client:
        tools = await client.list_tools()
        results = [await call(client, wanted) for wanted in spec["calls"]]
        return {
            "protocol": client.protocol_version,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            "results": results,
        }


async def main():
    print(json.dumps([await talk(spec) for spec in json.loads(sys.argv[1])]))


asyncio.run(main())
