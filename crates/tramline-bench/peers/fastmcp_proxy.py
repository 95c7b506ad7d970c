"""A FastMCP proxy in front of one MCP server: `fastmcp_proxy.py stdio|http PROGRAM [ARGUMENT…]`."""
import logging, socket, sys
from fastmcp.server import create_proxy

transport, program, *arguments = sys.argv[1:]
logging.disable(logging.CRITICAL)
proxy = create_proxy({"mcpServers": {"bench": {"command": program, "args": arguments}}}, name="proxy")
if transport == "stdio":
    proxy.run(show_banner=False)
else:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    proxy.run(transport="http", host="127.0.0.1", port=port, stateless_http=True, json_response=True,
              show_banner=False, log_level="critical", uvicorn_config={"access_log": False})
