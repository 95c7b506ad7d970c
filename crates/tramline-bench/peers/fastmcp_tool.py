"""FastMCP with one tool over HTTP, and its search over many tools: `fastmcp_tool.py http | search FILE`."""
import asyncio, json, logging, socket, sys, time
from fastmcp import Client, FastMCP

logging.disable(logging.CRITICAL)
workload = sys.argv[1]


def serve():
    """One tool that adds one, served as the documentation recommends for many clients."""
    server = FastMCP("bench")

    @server.tool
    def transforms_1(n: int) -> dict:
        """Adds one."""
        return {"n": n + 1}

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    server.run(transport="http", host="127.0.0.1", port=port, stateless_http=True, json_response=True,
               show_banner=False, log_level="critical", uvicorn_config={"access_log": False})


async def search(path):
    """The median of many searches, by a client in the same process, without a pipe or socket."""
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools import Tool

    given = json.load(open(path))
    server = FastMCP("bench", transforms=[BM25SearchTransform(max_results=10)])
    for at, card in enumerate(given["tools"]):
        def nothing(text: str = "") -> str:
            return text
        server.add_tool(Tool.from_function(nothing, name=f"{card['name']}_{at}"[:60], description=card["description"]))
    times = []
    async with Client(server) as client:
        await client.call_tool("search_tools", {"query": "warm up"})
        for query in given["queries"]:
            began = time.perf_counter()
            await client.call_tool("search_tools", {"query": query})
            times.append(time.perf_counter() - began)
            if len(times) >= 5 and sum(times) > 15:
                break
    times.sort()
    print(json.dumps({"search_us": times[len(times) // 2] * 1e6}))


if workload == "http":
    serve()
else:
    asyncio.run(search(sys.argv[2]))
