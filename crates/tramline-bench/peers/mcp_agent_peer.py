"""mcp-agent, as a library in this process: `mcp_agent_peer.py WORKLOAD FOLDER COUNT PROGRAM [ARGUMENT…]`, or `serve`, or `http`."""
import asyncio, json, logging, socket, sys, time
from mcp_agent.app import MCPApp
from mcp_agent.config import LoggerSettings, MCPServerSettings, MCPSettings, Settings
from mcp_agent.mcp.mcp_aggregator import MCPAggregator

workload = sys.argv[1]
command = sys.argv[4:] or [sys.executable]
server = MCPServerSettings(command=command[0], args=command[1:])
settings = Settings(execution_engine="asyncio", logger=LoggerSettings(type="none", level="error"), mcp=MCPSettings(servers={"bench": server}))
app = MCPApp(name="bench", settings=settings)


@app.tool
async def transforms_1(n: int) -> dict:
    """Adds one."""
    return {"n": n + 1}


async def least(work, repeats):
    """The minimum time of several repeats, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        await work()
        best = min(best, time.perf_counter() - began)
    return best


async def measure():
    async with app.run() as running:
        names = MCPAggregator(server_names=["bench"], connection_persistence=True, context=running.context)
        async with names as servers:
            if workload == "calls":
                async def ten():
                    for _ in range(10):
                        check(await servers.call_tool("bench_echo", {"n": 1}))
                await ten()
                return {"call_us": await least(ten, 20) * 1e5}
            async def wide():
                done = await asyncio.gather(*(servers.call_tool("bench_sleep", {"ms": 50}) for _ in range(50)))
                for one in done:
                    check(one)
            await wide()
            return {"wide_ms": await least(wide, 3) * 1e3}


def check(done):
    """Fails if the call failed."""
    if done.isError:
        sys.exit(f"mcp-agent: {done}")


async def serve(http):
    from mcp_agent.server.app_server import create_mcp_server_for_app
    async with app.run() as running:
        if not http:
            await create_mcp_server_for_app(running).run_stdio_async()
            return
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        print(f"http://127.0.0.1:{port}", flush=True)
        server = create_mcp_server_for_app(running, host="127.0.0.1", port=port, stateless_http=True, json_response=True, log_level="CRITICAL")
        await server.run_streamable_http_async()


logging.disable(logging.CRITICAL)
if workload in ("serve", "http"):
    asyncio.run(serve(workload == "http"))
else:
    print(json.dumps(asyncio.run(measure())))
