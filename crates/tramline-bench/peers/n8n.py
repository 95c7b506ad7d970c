"""n8n through its own command line: `n8n.py nodes FOLDER COUNT NODE PROGRAM`.

A workflow is imported and executed; n8n reports when an execution started and ended, so its startup is not included.
"""
import json, os, subprocess, sys
from datetime import datetime
from pathlib import Path

workload, folder, count, node, program = sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]), sys.argv[4], sys.argv[5]
env = {**os.environ, "HOME": str(folder), "N8N_USER_FOLDER": str(folder), "N8N_DIAGNOSTICS_ENABLED": "false",
       "N8N_VERSION_NOTIFICATIONS_ENABLED": "false", "N8N_RUNNERS_ENABLED": "false", "N8N_LOG_LEVEL": "error"}


def command(*arguments):
    done = subprocess.run([node, program, *arguments], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"n8n: {done.stdout}{done.stderr}"[-500:])
    return done.stdout


def chain(length):
    """A chain of Set nodes, each of which adds one."""
    value = {"id": "n", "name": "n", "type": "number", "value": "={{ ($json.n ?? 0) + 1 }}"}
    nodes = [{"id": "t0", "name": "t0", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0], "parameters": {}}]
    for at in range(1, length + 1):
        nodes.append({"id": f"t{at}", "name": f"t{at}", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [at * 200, 0],
                      "parameters": {"assignments": {"assignments": [value]}, "options": {}}})
    links = {f"t{at}": {"main": [[{"node": f"t{at + 1}", "type": "main", "index": 0}]]} for at in range(length)}
    return {"id": f"chain{length}", "name": f"chain{length}", "nodes": nodes, "connections": links, "settings": {}, "active": False}


def took(length):
    """The minimum time of three executions in milliseconds, as n8n reports it."""
    path = folder / f"chain{length}.json"
    path.write_text(json.dumps([chain(length)]))
    command("import:workflow", f"--input={path}")
    return min(executed(length) for _ in range(3))


def executed(length):
    said = command("execute", f"--id=chain{length}", "--rawOutput")
    done = json.loads(said[said.index("{"):])
    last = done["data"]["resultData"]["runData"][f"t{length}"][0]["data"]["main"][0][0]["json"]["n"]
    if last != length:
        sys.exit(f"n8n: {last} after {length} nodes")
    began, ended = (datetime.fromisoformat(done[name].replace("Z", "+00:00")) for name in ("startedAt", "stoppedAt"))
    return (ended - began).total_seconds() * 1e3


if workload == "nodes":
    print(json.dumps({"node_us": (took(count + 1) - took(1)) * 1e3 / count}))
else:
    sys.exit(f"n8n: unknown workload {workload}")
