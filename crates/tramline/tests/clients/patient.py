"""Runs a workflow that lasts longer than the time limit of a call, through the first Python SDK: started with run_start,
and called directly.
"""

import json
import sys
from datetime import timedelta

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ASKED = json.loads(sys.argv[1])


async def call(session, name, arguments):
    limit = timedelta(milliseconds=ASKED["limit_ms"])
    result = await session.call_tool(name, arguments, read_timeout_seconds=limit)
    return result.structuredContent


async def ended(session, run):
    waits = 0
    while True:
        waits += 1
        state = await call(session, "run_await", {"run_id": run})
        if state["status"] != "running":
            return {"status": state["status"], "result": state["result"], "waits": waits}


async def main():
    server = StdioServerParameters(command=ASKED["command"], args=ASKED["args"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        run = await call(session, "run_start", {"workflow": "slow", "arguments": {"n": 1}, "key": "patient"})
        started = await ended(session, run["run_id"])
        handed = await call(session, "slow", {"n": 1})
        called = await ended(session, handed["run_id"])
    print(json.dumps({"started": started, "called": called}))


anyio.run(main)
