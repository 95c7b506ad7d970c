"""pflow through its own command line: `pflow.py WORKLOAD FOLDER [COUNT]`; it is timed from outside.

The cost of the startup is subtracted by running the same with one step and with many.
"""
import json, os, re, subprocess, sys, time
from pathlib import Path

workload, folder = sys.argv[1], Path(sys.argv[2]).resolve()
count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
program = Path(sys.executable).parent / "pflow"
env = {**os.environ, "HOME": str(folder), "PFLOW_MAX_NODE_VISITS": "1000000", "PFLOW_TELEMETRY": "0"}


def fail(done):
    """Exits with the first lines of output that mention an error."""
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    told = [line for line in lines if "failed" in line.lower() or "error" in line.lower()]
    sys.exit(f"pflow: {' '.join((told or lines)[:3])}")


def chain(length):
    """A chain of code nodes, each of which adds one."""
    text = "# Chain\n\nAdds one again and again.\n\n## Steps\n"
    for at in range(length):
        given = f"${{s{at - 1}.result}}" if at else "1"
        text += f"\n### s{at}\n\nAdds one.\n\n- type: code\n- inputs:\n    n: {given}\n\n"
        text += "```python code\nn: int\nresult: int = n + 1\n```\n"
    return text


def turns(times):
    """One code node that repeats until it has counted to the end."""
    return (
        "# Count\n\nCounts up.\n\n## Steps\n\n### count\n\nAdds one.\n\n- type: code\n- inputs:\n    total: 0\n"
        "- loop:\n    carry:\n      total: ${count.result.total}\n    until: ${count.result.done}\n"
        f"    max_iterations: {times + 1}\n\n```python code\ntotal: int\n"
        f'result: dict = {{"total": total + 1, "done": total + 1 >= {times}}}\n```\n'
    )


def took(text):
    """The time of one run in seconds, including startup."""
    path = folder / "measured.pflow.md"
    path.write_text(text)
    began = time.perf_counter()
    done = subprocess.run([program, path, "--no-cache", "-p"], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(done)
    return time.perf_counter() - began


def beyond(long, short, times=3):
    """The time difference of a long and a short run in seconds; the minimum of several of each."""
    took(short)
    more = min(took(long) for _ in range(times)) - min(took(short) for _ in range(times))
    if more <= 0:
        sys.exit("pflow: the startup time varies more than the work takes")
    return more


def calls(length, server):
    """Sequential calls of an MCP server."""
    text = "# Calls\n\nCalls again and again.\n\n## Steps\n"
    text += "\n### first\n\nDoes nothing.\n\n- type: code\n- inputs:\n    n: 1\n\n```python code\nn: int\nresult: int = n\n```\n"
    for at in range(length):
        text += f"\n### c{at}\n\nCalls.\n\n- type: mcp-{server}-echo\n- n: 1\n"
    return text


def batch(width, server):
    """Parallel calls of an MCP server, each of which sleeps."""
    text = "# Wide\n\nCalls at once.\n\n## Steps\n"
    items = ", ".join("50" for _ in range(width))
    return text + (
        f"\n### all\n\nCalls.\n\n- type: mcp-{server}-sleep\n- ms: ${{item}}\n"
        f"- batch:\n    items: [{items}]\n    parallel: true\n    max_concurrent: {width}\n"
    )


def asking():
    """A step that needs approval."""
    return (
        "# Asks\n\nAsks first.\n\n## Steps\n\n### ask\n\nAdds one.\n\n- type: code\n- inputs:\n    n: 1\n- approval: required\n\n"
        "```python code\nn: int\nresult: int = n + 1\n```\n"
    )


def first_goes_on():
    """A paused workflow has no process: resuming starts one."""
    path = folder / "asks.pflow.md"
    path.write_text(asking())
    done = subprocess.run([program, path, "-p"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    token = re.search(r"Resume token: (\S+)", done.stdout + done.stderr)
    if not token:
        fail(done)
    began = time.perf_counter()
    command = [program, "resume", token[1], "--approve", "yes"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        fail(done)
    return (time.perf_counter() - began) * 1e3


def add_server(command):
    """Registers a server with pflow under the name `bench`."""
    name, *arguments = command
    config = json.dumps({"mcpServers": {"bench": {"command": name, "args": arguments}}})
    done = subprocess.run([program, "mcp", "add", config], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(done)


if workload == "nodes":
    print(json.dumps({"node_us": beyond(chain(count + 1), chain(1), 1) * 1e6 / count}))
elif workload == "turns":
    print(json.dumps({"turn_us": beyond(turns(count + 1), turns(1), 1) * 1e6 / count}))
elif workload == "calls":
    add_server(sys.argv[4:])
    print(json.dumps({"call_us": beyond(calls(10, "bench"), calls(0, "bench")) * 1e5}))
elif workload == "wide":
    add_server(sys.argv[4:])
    print(json.dumps({"wide_ms": beyond(batch(50, "bench"), calls(0, "bench")) * 1e3}))
elif workload == "go_on":
    print(json.dumps({"first_ms": first_goes_on()}))
else:
    sys.exit(f"pflow: unknown workload {workload}")
