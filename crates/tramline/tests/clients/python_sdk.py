"""Talks to a server as agents do: lists its tools, makes the calls it is told to, prints what came back.

The argument is a JSON list of talks: {"stdio": {"command", "args", "cwd"}} or {"http": URL, "token"}, with "mode" and "calls".
With "decide" the user who is asked decides so.
"""

import json
import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import ElicitResult


def server(spec):
    if "stdio" in spec:
        return StdioServerParameters(**spec["stdio"])
    if spec.get("token") is None:
        return spec["http"]
    headers = {"Authorization": "Bearer " + spec["token"]}
    return streamable_http_client(spec["http"], http_client=create_mcp_http_client(headers=headers))


def user(spec):
    if "decide" not in spec and "fill" not in spec:
        return None

    async def answer(context, params):
        content = spec.get("fill") or {"decision": spec["decide"]}
        return ElicitResult(action="accept", content=content)

    return answer


async def call(client, wanted):
    progress = []

    async def note(done, total, message):
        progress.append({"done": done, "message": message})

    result = await client.call_tool(wanted["tool"], wanted["arguments"], progress_callback=note)
    return {
        "is_error": result.is_error,
        "structured": result.structured_content,
        "text": [block.text for block in result.content],
        "progress": progress,
    }


async def talk(spec):
    async with Client(server(spec), mode=spec["mode"], elicitation_callback=user(spec)) as client:
        tools = (await client.list_tools()).tools
        results = [await call(client, wanted) for wanted in spec["calls"]]
        return {
            "protocol": client.session.protocol_version,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            "results": results,
        }


async def main():
    print(json.dumps([await talk(spec) for spec in json.loads(sys.argv[1])]))


anyio.run(main)
