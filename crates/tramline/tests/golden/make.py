#!/usr/bin/env python3
"""Makes a golden data directory: every kind of run, written by a given Tramline binary.

    make.py BINARY UNRULY_DIRECTORY VERSION

The documents are read from VERSION/documents beside this script; VERSION/data and
VERSION/manifest.json are written. Run it once, with the binary of the version that the directory
stands for, before the next version changes what is written. Never run it again for a version that
has been released: the bytes are the point.
"""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
BINARY = str(pathlib.Path(sys.argv[1]).resolve())
UNRULY = str(pathlib.Path(sys.argv[2]).resolve())
VERSION = HERE / sys.argv[3]
# The same on every machine: journals name the directory they were begun in.
WORK = pathlib.Path("/tmp/tramline-golden")
PATIENCE_S = 60
ENV = {"PATH": f"{UNRULY}:/usr/bin:/bin", "HOME": str(WORK), "GOLDEN_LOG": str(WORK / "calls.log")}

CASES = []
# Questions that are answered at the end: whoever serves the directory takes up what was answered.
LATER = {}


def command(*args):
    return [BINARY, *map(str, args), "--data-dir", "data"]


def tramline(*args, code=0, **more):
    done = subprocess.run(command(*args, "--json"), cwd=WORK, env=ENV, capture_output=True, text=True, **more)
    if done.returncode != code:
        raise SystemExit(f"{args}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    said = done.stdout.strip()
    return json.loads(said.splitlines()[-1]) if said.startswith(("{", "[")) else said


def until(what, see):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = see()
        if found:
            return found
        time.sleep(0.05)
    raise SystemExit(f"{what} never came")


def calls():
    try:
        return [json.loads(line) for line in (WORK / "calls.log").read_text().splitlines()]
    except FileNotFoundError:
        return []


def run(tool, *args, code=0):
    """Runs a tool of golden.yaml."""
    return tramline("run", "golden.yaml", tool, *args, code=code)


def killed(tool, ready, *args):
    """Starts a tool and kills the process as soon as the run is ready for it."""
    before = {row["run_id"] for row in listed()}
    child = subprocess.Popen(command("run", "golden.yaml", tool, "--json", *args), cwd=WORK, env=ENV,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def found():
        new = [row["run_id"] for row in listed() if row["run_id"] not in before]
        return new and ready(new[0]) and new[0]

    found = until(tool, found)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return found


def listed():
    return tramline("runs", "--most", "1000")["runs"]


def unknown():
    """The runs that are no case yet, newest first."""
    known = [one["run"] for one in CASES]
    return [row["run_id"] for row in listed() if row["run_id"] not in known]


def newest():
    return unknown()[0]


def shown(run_id):
    return tramline("runs", "show", run_id)


class Talk:
    """An MCP client over the pipes of `tramline serve`."""

    def __init__(self, *args):
        self.child = subprocess.Popen(command("serve", *args), cwd=WORK, env=ENV, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.asked = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": "golden", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def send(self, method, params):
        self.asked += 1
        self.write({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})

    def ask(self, method, params):
        self.send(method, params)
        for line in self.child.stdout:
            message = json.loads(line)
            if message.get("id") == self.asked:
                return message["result"]
        raise SystemExit(f"no answer to {method}")

    def call(self, tool, /, **arguments):
        told = self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]
        if os.environ.get("GOLDEN_SHOWS"):
            print(tool, json.dumps(told), file=sys.stderr)
        return told

    def close(self):
        self.child.stdin.close()
        self.child.wait()

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()


def case(name, run_id, then=(), finally_=None, calls=(), files=None, why=None):
    """Remembers what a run is and what must come of it."""
    entry = {"name": name, "run": run_id}
    if why:
        entry["why"] = why
    entry["then"] = list(then)
    if finally_:
        entry["finally"] = finally_
    if calls:
        entry["calls"] = list(calls)
    if files:
        entry["files"] = files
    CASES.append(entry)


def say(*args, code=0, json=None):
    """A command that is to be given, with the exit code that it is to have."""
    step = {"command": list(args), "exit": code}
    if json:
        step["says"] = json
    return step


def ask(tool, says, /, **arguments):
    """A tool that is to be called, with what its reply is to hold."""
    return {"tool": tool, "arguments": arguments, "says": says}


RESUME = ["runs", "resume", "{run}", "--file", "golden.yaml", "--root", "."]
RESUME_DAG = ["runs", "resume", "{run}", "--mcp-config", "mcp.json", "--config", "long.yaml", "--root", "."]
YES = ["runs", "answer", "{checkpoint}", "--yes"]
NO = ["runs", "answer", "{checkpoint}", "--no", "--why", "not today"]
PAUSED, REJECTED = 4, 3


def checkpoint(told):
    return told["waiting"][0]["checkpoint_id"]


def plain_runs():
    done = run("completes", "n=7", "--session", "plain")
    case("completed", done["run_id"], finally_="completed")
    case("failed", run("fails", code=1)["run_id"], finally_="failed")
    case("on-error", run("recovers")["run_id"], finally_="completed")
    case("retried", run("retries")["run_id"], finally_="completed")
    case("spread", run("spreads")["run_id"], finally_="completed")
    case("child-completed", run("calls-a-quick-one")["run_id"], finally_="completed")
    case("setting", run("names-a-setting")["run_id"], finally_="completed")
    return done["run_id"]


def approvals():
    asks = lambda code=PAUSED, *more: run("asks", *more, code=code)
    case("approval", asks()["run_id"], [say(*YES), say(*RESUME)], "completed", ["act"],
         why="waits for a person because its document says so")
    case("approval-rejected-later", asks()["run_id"], [say(*NO), say(*RESUME, code=REJECTED)], "rejected")
    told = asks()
    LATER["answer"] = checkpoint(told)
    case("approval-answered", told["run_id"], [say(*RESUME)], "completed", ["act"],
         why="answered with yes and not driven on since")
    told = asks()
    tramline("runs", "answer", checkpoint(told), "--yes")
    tramline("runs", "resume", told["run_id"], "--file", "golden.yaml")
    case("approval-done", told["run_id"], finally_="completed")
    told = asks()
    tramline("runs", "reject", checkpoint(told), "--why", "too dear")
    tramline("runs", "resume", told["run_id"], "--file", "golden.yaml", code=REJECTED)
    case("rejected", told["run_id"], finally_="rejected")
    told = asks()
    tramline("runs", "abort", told["run_id"], "--why", "not needed any more")
    case("aborted", told["run_id"], finally_="aborted")
    case("approval-aborted-later", asks()["run_id"], [say("runs", "abort", "{run}", "--why", "late")], "aborted")
    both = run("asks-twice", code=PAUSED)
    case("approval-twice", both["run_id"],
         [say(*YES), say(*RESUME, code=PAUSED), say(*YES), say(*RESUME)], "completed", ["left", "right"])
    told = tramline("run", "golden.yaml", "records", "--config", "policy.yaml", code=PAUSED)
    case("approval-policy", told["run_id"], [say(*YES), say(*RESUME, "--config", "policy.yaml")], "completed", ["act"],
         why="waits because the operator's policy asks about the tool")
    told = run("calls-another", code=PAUSED)
    case("child", told["run_id"],
         [say("runs", "answer", "{below}", "--yes"),
          say("runs", "resume", "{run_below}", *RESUME[3:]), {**say(*RESUME), "or_ended": True}], "completed", ["act"],
         why="waits for a workflow that it calls, which asks a person")
    below = next(row["run_id"] for row in listed() if row["workflow"] == "asks" and row["status"] == "paused"
                 and row["run_id"] not in [one["run"] for one in CASES])
    CASES[-1]["below"] = below
    case("child-below", below, why="the workflow that `child` waits for")


def breaks_and_forks(completed):
    halt = lambda: tramline("debug", "golden.yaml", "asks", "--break", "look", code=PAUSED, input="")
    halt()
    run_id = newest()
    case("break", run_id, [say("runs", "watch", "{run}", "--clear"), say(*YES), say(*RESUME, code=PAUSED)], "paused",
         why="halts before a node, as it was told")
    halt()
    run_id = newest()
    tramline("runs", "watch", run_id, "--break", "act:look.seen = 1")
    case("break-watched", run_id, [say(*YES), say(*RESUME, code=PAUSED)], "paused",
         why="another breakpoint was set while it halted")
    tramline("runs", "fork", completed, "--at", "event:1", "--file", "golden.yaml", code=PAUSED)
    run_id = newest()
    case("fork-effect", run_id, [say(*YES), say(*RESUME)], "completed", ["keep"],
         why="a fork that is about to make a call again which the other run has made")
    tramline("runs", "fork", completed, "--at", "event:1", "--repeat-effects", "--file", "golden.yaml")
    run_id = newest()
    case("fork-done", run_id, finally_="completed")


def two(second="u:echo"):
    return [{"id": "one", "tool": "u:echo", "arguments": {"files": ["a"]}},
            {"id": "two", "tool": second, "arguments": {"node": "two", "first": "$OUTPUT[one].files[0]"}, "depends_on": ["one"]}]


def control_runs():
    flags = ["--toolsets", "control,debug", "--mcp-config", "mcp.json", "--config", "long.yaml"]
    talk = Talk(*flags)
    layered = lambda tasks, **more: talk.call("execute_dag", workflow={"tasks": tasks},
                                              config={"per_layer_validation": True}, **more)
    told = layered(two())
    case("layer", told["workflow_id"], [say(*YES), say(*RESUME_DAG)], "completed", why="waits after its first layer")
    told = layered(two())
    case("layer-mcp", told["workflow_id"],
         [ask("continue", {"status": "complete"}, workflow_id="{run}", reason="fine")], "completed")
    told = layered(two())
    more = [{"id": "three", "tool": "u:echo", "arguments": {"x": "$OUTPUT[one].files[0]"}, "depends_on": ["one"]}]
    talk.call("replan", workflow_id=told["workflow_id"], new_requirement="one more", new_tasks=more)
    case("replanned", told["workflow_id"],
         [ask("continue", {"status": "complete"}, workflow_id="{run}")], "completed",
         why="its graph was extended while it waits after a layer")
    told = layered(two())
    talk.call("replan", workflow_id=told["workflow_id"], new_requirement="one more", new_tasks=more)
    talk.call("continue", workflow_id=told["workflow_id"])
    case("replanned-done", told["workflow_id"], finally_="completed")
    told = layered(two())
    talk.call("abort", workflow_id=told["workflow_id"], reason="changed my mind")
    case("aborted-mcp", told["workflow_id"], finally_="aborted")
    told = talk.call("execute_dag", workflow={"tasks": two("u:record")}, budget={"calls": 1})
    case("budget", told["workflow_id"],
         [say("runs", "answer", "{checkpoint}", "--extend", '{"calls": 5}'), say(*RESUME_DAG)], "completed", ["two"],
         why="its budget of one call is spent")
    told = talk.call("execute_dag", workflow={"tasks": two()}, budget={"calls": 1})
    talk.call("approval_response", workflow_id=told["workflow_id"], checkpoint_id=told["checkpoint_id"],
              approved=True, budget={"calls": 3})
    case("budget-extended", told["workflow_id"], finally_="completed")
    for part, most in [("bytes", 1), ("active_ms", 0)]:
        told = talk.call("execute_dag", workflow={"tasks": two()}, budget={part: most})
        more = json.dumps({part: 100_000_000})
        case(f"budget-{part}", told["workflow_id"],
             [say("runs", "answer", "{checkpoint}", "--extend", more), say(*RESUME_DAG)], "completed")
    (WORK / "gone.txt").write_text("to be deleted")
    delete = [{"id": "rm", "tool": "builtin:delete-file", "arguments": {"path": "gone.txt", "confirm_delete": True}}]
    told = talk.call("execute_dag", workflow={"tasks": delete})
    case("approval-destructive", told["workflow_id"], [say(*YES), say(*RESUME_DAG)], "completed",
         files={"gone.txt": "to be deleted"}, why="waits because the tool is annotated as destructive")
    gate = [{"id": "look", "tool": "u:echo"},
            {"id": "deploy", "tool": "u:record", "arguments": {"node": "deploy"}, "depends_on": ["look"], "approval": "it is production"}]
    told = layered(gate, session_id="harbour")
    talk.call("continue", workflow_id=told["workflow_id"], session_id="harbour")
    case("approval-layered", told["workflow_id"], [say(*YES), say(*RESUME_DAG)], "completed", ["deploy"],
         why="an approval in a workflow with validation per layer, and with a session")
    told = talk.call("execute_dag", intent="add up the nightly figures", workflow={"tasks": [
        {"id": "sum", "tool": "u:add", "arguments": {"a": 1, "b": 2}},
        {"id": "say", "tool": "u:echo", "arguments": {"n": "$OUTPUT[sum]"}, "depends_on": ["sum"]}]})
    case("planned-for-an-intent", told["workflow_id"], finally_="completed")
    talk.close()
    brief = Talk(*flags[:-1], "brief.yaml")
    told = brief.call("execute_dag", workflow={"tasks": two()}, config={"per_layer_validation": True})
    time.sleep(0.5)
    brief.call("continue", workflow_id=told["workflow_id"])
    case("expired", told["workflow_id"], finally_="expired", why="its time to live was over; that is recorded")
    brief.close()


def owned_run():
    (WORK / "tokens").write_text("ann=golden-token-of-ann\n")
    args = ["--toolsets", "control", "--mcp-config", "mcp.json", "--config", "long.yaml", "--token-file", "tokens"]
    child = subprocess.Popen(command("serve", *args, "--http", "127.0.0.1:0"), cwd=WORK, env=ENV, text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    address = next(line.split("http://")[1].strip() for line in child.stderr if "http://" in line)
    params = {"name": "execute_dag", "arguments": {"workflow": {"tasks": two()}, "config": {"per_layer_validation": True}},
              "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientInfo": {"name": "golden", "version": "1"},
                        "io.modelcontextprotocol/clientCapabilities": {},
                        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    request = urllib.request.Request(f"http://{address}", body, {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "Authorization": "Bearer golden-token-of-ann", "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call", "Mcp-Name": "execute_dag"})
    answer = urllib.request.urlopen(request).read().decode()
    line = next(line.removeprefix("data: ") for line in answer.splitlines() if '"jsonrpc"' in line)
    told = json.loads(line)["result"]["structuredContent"]
    child.terminate()
    child.wait()
    case("owned", told["workflow_id"], [say(*YES), say(*RESUME_DAG)], "completed",
         why="belongs to a caller with a token, within a trace of that caller's")


def conversations():
    flags = ["--toolsets", "sop,control", "--mcp-config", "mcp.json", "--config", "long.yaml", "--root", "."]
    talk = Talk(*flags)

    def begin():
        told = talk.call("load_graph", sop_file="desk.md")
        talk.call("goto_node", node_id="START")
        talk.call("goto_node", node_id="FIND", slots={"parcel": "P1", "days": 9}, reason="they gave the number")
        return told["session_id"]

    def to_refund():
        session = begin()
        talk.call("sop_call", tool="add", arguments={"a": 1, "b": 2})
        talk.call("goto_node", node_id="LATE", evidence={"said": "nine days"})
        talk.call("goto_node", node_id="REFUND")
        return session

    session = begin()
    talk.call("todo", todos=[{"content": "find it", "status": "in_progress", "completion_node": "DONE", "note": "P1"}])
    talk.call("goto_node", node_id="DONE")
    talk.call("sop_call", tool="record", arguments={"node": "refused"})
    talk.call("sop_call", tool="add", arguments={"a": 1, "b": 2})
    case("sop-at-a-node", session, [
        ask("goto_node", {"valid": True, "path": ["START", "FIND", "LATE"]}, session_id="{run}", node_id="LATE"),
        ask("goto_node", {"valid": True}, session_id="{run}", node_id="REFUND"),
    ], "guided", why="at a node with slots, tasks, a refused move, a refused call and a result")
    pay = {"tool": "record", "arguments": {"node": "paid"}, "confirm": "the customer said yes"}
    session = to_refund()
    asked = talk.call("sop_call", **pay)
    again = {**pay, "session_id": "{run}"}
    case("sop-asks", session, [
        say("runs", "answer", asked["checkpoint_id"], "--yes", "--why", "fine"),
        ask("sop_call", {}, **again),
        ask("goto_node", {"valid": True}, session_id="{run}", node_id="DONE"),
    ], "guided", ["paid"], why="a call waits for a person")
    case("sop-question", "run_" + asked["checkpoint_id"].split("_")[1], why="the run in which `sop-asks` asks")
    session = to_refund()
    asked = talk.call("sop_call", **pay)
    tramline("runs", "answer", asked["checkpoint_id"], "--yes", "--why", "fine")
    case("sop-made", session, [ask("sop_call", {}, **again)], "guided",
         why="a person agreed to a call, which the next server made; the agent has not heard of it")
    session = to_refund()
    LATER["agree"] = talk.call("sop_call", **pay)["checkpoint_id"]
    case("sop-agreed", session, [ask("sop_call", {}, **again)], "guided", ["paid"],
         why="a person agreed to a call that has not been made yet")
    session = to_refund()
    asked = talk.call("sop_call", **pay)
    tramline("runs", "reject", asked["checkpoint_id"], "--why", "no money")
    case("sop-refused", session, [ask("sop_call", {"error": {}}, **again)], "guided",
         why="a person refused a call; the agent has not heard of it")
    session = begin()
    talk.call("sop_call", tool="add", arguments={"a": 1, "b": 2})
    talk.call("goto_node", node_id="ROUTE")
    talk.call("goto_node", node_id="FORM")
    talk.call("goto_node", node_id="NAME", slots={"name": "Ada"})
    talk.call("goto_node", node_id="FILE")
    case("sop-within", session, [
        ask("sop_call", {}, session_id="{run}", tool="record", arguments={"node": "filed"}),
        ask("goto_node", {"valid": True}, session_id="{run}", node_id="FILED"),
        ask("goto_node", {"valid": True}, session_id="{run}", node_id="DONE"),
    ], "guided", ["filed"], why="inside a procedure that a node leads into")
    session = to_refund()
    talk.call("goto_node", node_id="ROUTE")
    talk.call("goto_node", node_id="FORM")
    talk.call("goto_node", node_id="FILE", slots={"name": "Ada"})
    talk.call("sop_call", tool="record", arguments={"node": "filed"})
    talk.call("goto_node", node_id="FILED")
    talk.call("goto_node", node_id="DONE")
    case("sop-done", session, [
        ask("goto_node", {"valid": True, "path": ["START"]}, session_id="{run}", node_id="START"),
    ], "guided", why="at its end, after a hub and a procedure within")
    lax = talk.call("load_graph", sop_file="lax.md")["session_id"]
    talk.call("goto_node", node_id="A")
    talk.call("goto_node", node_id="C")
    talk.call("sop_call", tool="record", arguments={"node": "lax"})
    talk.call("goto_node", node_id="C", reason="once more")
    case("sop-warned", lax, [
        ask("goto_node", {"valid": True}, session_id="{run}", node_id="A"),
    ], "guided", why="a move and a call that were let pass with a warning")
    talk.close()
    brief = Talk(*flags[:4], "--config", "brief.yaml", "--root", ".")
    told = brief.call("load_graph", sop_file="desk.md")
    brief.call("goto_node", node_id="START")
    time.sleep(0.5)
    brief.call("goto_node", node_id="FIND")
    case("sop-expired", told["session_id"], finally_="expired", why="nobody came back in time")
    brief.close()
    talk = Talk(*flags)
    session = begin_in(talk)
    talk.send("tools/call", {"name": "sop_call", "arguments": {"tool": "record", "arguments": {"node": "lost", "delay_ms": 600000}}})
    until("the lost call", lambda: any(line["arguments"].get("node") == "lost" for line in calls()))
    talk.kill()
    case("sop-killed-in-a-call", session, [
        ask("goto_node", {}, session_id="{run}", node_id="FILE"),
    ], "guided", why="the process died in a call that cannot be repeated")


def begin_in(talk):
    told = talk.call("load_graph", sop_file="form.md")
    talk.call("goto_node", node_id="NAME")
    talk.call("goto_node", node_id="FILE", slots={"name": "Ada"})
    return told["session_id"]


def beside_runs():
    """Settings, saved workflows, the planner loop and its memory."""
    tramline("settings", "set", "COLOUR", "--stdin", input="a golden secret\n")
    tramline("settings", "set", "SHAPE", "round", "--plain")
    tramline("library", "save", "golden.yaml", "--tool", "asks", "--name", "asks")
    tramline("library", "save", "golden.yaml", "--tool", "completes", "--name", "asks", "--force")
    tramline("library", "save", "golden.yaml", "--tool", "spreads", "--name", "spreads")


def saved_runs():
    """A saved workflow that is run, by which its uses are counted."""
    talk = Talk("--toolsets", "library", "--mcp-config", "mcp.json", "--config", "long.yaml")
    talk.call("registry_discover", task="spread some items")
    talk.call("workflow_execute", workflow="spreads", parameters={})
    talk.close()
    case("saved", newest(), finally_="completed", why="ran from the library")


def loops():
    plan = '[{"id": "a", "tool": "u:add", "args": {"a": 2, "b": 3}}, {"id": "b", "tool": "u:echo", "args": {"n": "$OUTPUT[a]"}}]'
    for words in ["add the harbour's figures", "and the island's"]:
        tramline("loop", words, "--session", "harbour", "--plan", plan, "--mcp-config", "mcp.json")
    for name, run_id in zip(["loop-second", "loop-first"], unknown()):
        case(name, run_id, finally_="completed", why="a plan of the planner loop, with its memory")
    tramline("loop", "paint the fence", "--session", "harbour", "--mcp-config", "mcp.json", code=2)


def in_doubt():
    def slow(_):
        return any(line["arguments"].get("node") == "slow" for line in calls()[before:])

    def doubtful():
        nonlocal before
        before = len(calls())
        run_id = killed("hangs", slow)
        tramline("runs", "resume", run_id, "--file", "golden.yaml", code=PAUSED)
        return run_id

    before = 0
    answer = lambda *more: say("runs", "answer", "{checkpoint}", *more)
    case("in-doubt", doubtful(), [answer("--skip", '"by hand"'), say(*RESUME)], "completed", ["after"],
         why="its process died in a call that cannot be repeated, and it asks")
    case("in-doubt-rejected-later", doubtful(), [answer("--no"), say(*RESUME, code=REJECTED)], "rejected")
    run_id = doubtful()
    asked = shown(run_id)["pauses"][0]["checkpoint"]
    tramline("runs", "answer", asked, "--skip", '"by hand"')
    tramline("runs", "resume", run_id, "--file", "golden.yaml")
    case("in-doubt-skipped", run_id, finally_="completed")


    def doubtful_for_a_moment():
        before = len(calls())
        run_id = killed("hangs-briefly", lambda _: len(calls()) > before)
        tramline("runs", "resume", run_id, "--file", "golden.yaml", code=PAUSED)
        return run_id

    case("in-doubt-retried-later", doubtful_for_a_moment(), [answer("--retry"), say(*RESUME)], "completed", ["brief"])
    run_id = doubtful_for_a_moment()
    tramline("runs", "answer", shown(run_id)["pauses"][0]["checkpoint"], "--retry")
    tramline("runs", "resume", run_id, "--file", "golden.yaml")
    case("in-doubt-retried", run_id, finally_="completed")
    before = len(calls())
    run_id = killed("spreads-slowly", lambda _: len(calls()) >= before + 2)
    tramline("runs", "resume", run_id, "--file", "golden.yaml", code=PAUSED)
    case("in-doubt-item", run_id, [answer("--skip", '"by hand"'), say(*RESUME)], "completed",
         why="one of its items is in doubt")


def unnoticed():
    """Near the end: whoever serves this directory would notice."""
    brief = Talk("--toolsets", "sop,control", "--mcp-config", "mcp.json", "--config", "brief.yaml", "--root", ".")
    late = brief.call("execute_dag", workflow={"tasks": two()}, config={"per_layer_validation": True})
    walk = brief.call("load_graph", sop_file="desk.md")
    brief.kill()
    case("expired-unrecorded", late["workflow_id"],
         [ask("continue", {"error": {"code": -32001}}, workflow_id="{run}")], "expired",
         why="its time to live is over; nobody has noticed yet")
    case("sop-expired-unrecorded", walk["session_id"],
         [ask("goto_node", {"error": {}}, session_id="{run}", node_id="START")], "expired",
         why="the same of a conversation")


def interrupted():
    """Last: whoever serves this directory would take these runs over."""
    paid = [line for line in calls() if line["arguments"].get("node") == "paid"]
    assert len(paid) == 1, paid
    tramline("runs", "answer", LATER["agree"], "--yes", "--why", "fine")
    tramline("runs", "answer", LATER["answer"], "--yes", "--why", "seen by two")
    start = lambda: len(calls())
    before = start()
    run_id = killed("hangs", lambda _: any(line["arguments"].get("node") == "slow" for line in calls()[before:]))
    case("interrupted", run_id, [
        say(*RESUME, code=PAUSED), say("runs", "answer", "{checkpoint}", "--skip", '"by hand"'), say(*RESUME)],
        "completed", ["after"], why="its process died in a call that cannot be repeated; nobody has taken it over")
    before = start()
    run_id = killed("hangs", lambda _: any(line["arguments"].get("node") == "slow" for line in calls()[before:]))
    case("interrupted-rejected", run_id, [say(*RESUME, code=PAUSED),
         say("runs", "answer", "{checkpoint}", "--no"), say(*RESUME, code=REJECTED)], "rejected")
    before = start()
    run_id = killed("spreads-slowly", lambda _: len(calls()) >= before + 2)
    case("interrupted-item", run_id, [say(*RESUME, code=PAUSED),
         say("runs", "answer", "{checkpoint}", "--skip", '"by hand"'), say(*RESUME)], "completed")

    def step_shown(run_id):
        return bool(shown(run_id)["steps"][1:])

    case("interrupted-reading", killed("reads-slowly", step_shown), [say(*RESUME)], "completed",
         why="its process died in a call that may be repeated")
    case("waiting", killed("waits-for-long", step_shown),
         [say("runs", "abort", "{run}")], "aborted")
    case("waited", killed("waits", step_shown), [say(*RESUME)], "completed", why="its time has come meanwhile")

    def failed_once(_):
        return (WORK / "later.count").exists()

    case("retrying", killed("retries-later", failed_once), [say(*RESUME)], "completed", files={"later.count": "1"},
         why="waits for its next attempt")


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(VERSION / "documents", WORK)
    beside_runs()
    completed = plain_runs()
    approvals()
    breaks_and_forks(completed)
    saved_runs()
    loops()
    control_runs()
    owned_run()
    conversations()
    in_doubt()
    unnoticed()
    interrupted()
    rows = {row["run_id"]: row for row in listed()}
    for one in CASES:
        one["status"] = rows[one["run"]]["status"]
        if one["status"] == "paused":
            one["pauses"] = [pause["kind"] for pause in shown(one["run"])["pauses"] if not pause.get("answer")]
    database = WORK / "data" / "tramline.db"
    with sqlite3.connect(database) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = VERSION / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    shutil.copy(database, data)
    shutil.copy(WORK / "data" / "settings.key", data)
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout.strip()
    manifest = {"made_by": version, "runs": len(rows), "cases": CASES}
    (VERSION / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(WORK)
    print(f"{len(rows)} runs, {len(CASES)} cases, {database and (data / 'tramline.db').stat().st_size} bytes")


main()
