"""pflow through its own command line: `pflow.py WORKLOAD FOLDER [COUNT]`; it is timed from outside.

What a start costs is taken out by running the same with one step, and with many.
"""
import json, os, subprocess, sys, time
from pathlib import Path

workload, folder = sys.argv[1], Path(sys.argv[2]).resolve()
count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
program = Path(sys.executable).parent / "pflow"
env = {**os.environ, "HOME": str(folder), "PFLOW_MAX_NODE_VISITS": "1000000", "PFLOW_TELEMETRY": "0"}


def chain(length):
    """Code nodes one after the other, each of which adds one."""
    text = "# Chain\n\nAdds one again and again.\n\n## Steps\n"
    for at in range(length):
        given = f"${{s{at - 1}.result}}" if at else "1"
        text += f"\n### s{at}\n\nAdds one.\n\n- type: code\n- inputs:\n    n: {given}\n\n"
        text += "```python code\nn: int\nresult: int = n + 1\n```\n"
    return text


def turns(times):
    """One code node that is done again until it has counted so far."""
    return (
        "# Count\n\nCounts up.\n\n## Steps\n\n### count\n\nAdds one.\n\n- type: code\n- inputs:\n    total: 0\n"
        "- loop:\n    carry:\n      total: ${count.result.total}\n    until: ${count.result.done}\n"
        f"    max_iterations: {times + 1}\n\n```python code\ntotal: int\n"
        f'result: dict = {{"total": total + 1, "done": total + 1 >= {times}}}\n```\n'
    )


def took(text):
    """The seconds that one run takes, its start in them."""
    path = folder / "measured.pflow.md"
    path.write_text(text)
    began = time.perf_counter()
    done = subprocess.run([program, path, "--no-cache", "-p"], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"pflow: {done.stdout}{done.stderr}"[-500:])
    return time.perf_counter() - began


def calls(length, server):
    """Calls of an MCP server one after the other."""
    text = "# Calls\n\nCalls again and again.\n\n## Steps\n"
    text += "\n### first\n\nDoes nothing.\n\n- type: code\n- inputs:\n    n: 1\n\n```python code\nn: int\nresult: int = n\n```\n"
    for at in range(length):
        text += f"\n### c{at}\n\nCalls.\n\n- type: mcp-{server}-echo\n- n: 1\n"
    return text


def add_server(command):
    """Makes a server known to pflow, under the name `bench`."""
    name, *arguments = command
    config = json.dumps({"mcpServers": {"bench": {"command": name, "args": arguments}}})
    done = subprocess.run([program, "mcp", "add", config], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"pflow: {done.stdout}{done.stderr}"[-500:])


if workload == "nodes":
    took(chain(1))
    print(json.dumps({"node_us": (took(chain(count + 1)) - took(chain(1))) * 1e6 / count}))
elif workload == "turns":
    took(turns(1))
    print(json.dumps({"turn_us": (took(turns(count + 1)) - took(turns(1))) * 1e6 / count}))
elif workload == "calls":
    add_server(sys.argv[4:])
    took(calls(0, "bench"))
    print(json.dumps({"call_us": (took(calls(10, "bench")) - took(calls(0, "bench"))) * 1e5}))
else:
    sys.exit(f"pflow: no workload {workload}")
