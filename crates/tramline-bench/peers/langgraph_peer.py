"""LangGraph, as a library in this process: `langgraph_peer.py WORKLOAD FOLDER [COUNT]`."""
import asyncio, json, operator, os, sqlite3, sys, time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

workload, folder = sys.argv[1], sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 1


class Number(TypedDict):
    n: int


class Done(TypedDict):
    done: Annotated[list, operator.add]


def saver():
    """Its SQLite saver, as durable as ours."""
    connection = sqlite3.connect(f"{folder}/langgraph.db", check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    return SqliteSaver(connection)


def chain(length):
    """A chain of nodes, each of which adds one."""
    graph = StateGraph(Number)
    for at in range(length):
        graph.add_node(f"t{at}", lambda state: {"n": state["n"] + 1})
        graph.add_edge(f"t{at - 1}" if at else START, f"t{at}")
    graph.add_edge(f"t{length - 1}", END)
    return graph.compile()


def least(app, given, repeats, limit=1_000_000):
    """The minimum time of several runs, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        app.invoke(given, {"recursion_limit": limit})
        best = min(best, time.perf_counter() - began)
    return best


def nodes():
    one, many = least(chain(1), {"n": 1}, 10), least(chain(101), {"n": 1}, 5)
    return {"node_us": (many - one) * 1e4}


def turns():
    """A node that repeats until it has counted to the end."""
    graph = StateGraph(Number)
    graph.add_node("add", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda state: "add" if state["n"] < count else END, ["add", END])
    app = graph.compile()
    return {"turn_us": least(app, {"n": 0}, 1 if count > 300 else 3) * 1e6 / count}


async def wide():
    """Parallel nodes, each of which sleeps; there is no MCP server behind them."""
    graph = StateGraph(Done)

    async def sleep(state):
        await asyncio.sleep(0.05)
        return {"done": ["x"]}

    for at in range(50):
        graph.add_node(f"s{at}", sleep)
        graph.add_edge(START, f"s{at}")
        graph.add_edge(f"s{at}", END)
    app = graph.compile()
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        await app.ainvoke({"done": []})
        best = min(best, time.perf_counter() - began)
    return {"wide_ms": best * 1e3}


def layers(deep=20, tasks=5):
    """Layers of empty tasks with a checkpoint after each; `count` concurrent workflows."""
    graph = StateGraph(Done)
    names = [[f"t{layer}_{task}" for task in range(tasks)] for layer in range(deep)]
    for layer in range(deep):
        for name in names[layer]:
            graph.add_node(name, lambda state: {"done": ["x"]})
            graph.add_edge(names[layer - 1] if layer else START, name)
    graph.add_edge(names[-1], END)
    app = graph.compile(checkpointer=saver())

    def walk(thread):
        app.invoke({"done": []}, {"configurable": {"thread_id": thread}, "recursion_limit": 1000}, durability="sync")

    walk("warm")
    began = time.perf_counter()
    if count == 1:
        walk("measured")
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda at: walk(f"measured{at}"), range(count)))
    return {"layer_ms": (time.perf_counter() - began) * 1e3 / (deep * count)}


def asking():
    """A workflow that waits for a person."""
    graph = StateGraph(Number)
    graph.add_node("ask", lambda state: {"n": interrupt("continue?")})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver())


def resident():
    """The resident memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def paused():
    app = asking()
    # Warm-up: bounded caches are filled before the measurement starts.
    end, at = time.perf_counter() + 30, 0
    while at < count and time.perf_counter() < end:
        app.invoke({"n": 1}, {"configurable": {"thread_id": f"warm{at}"}}, durability="sync")
        at += 1
    before, end, made = resident(), time.perf_counter() + 30, 0
    while made < count and time.perf_counter() < end:
        app.invoke({"n": 1}, {"configurable": {"thread_id": f"t{made}"}}, durability="sync")
        made += 1
    now = resident()
    return {"paused_bytes": (now - before) / made, "process_bytes": now, "made": made}


def go_on():
    """A new process with paused workflows: the time until the first one resumes."""
    app = asking()
    began = time.perf_counter()
    done = app.invoke(Command(resume=7), {"configurable": {"thread_id": "t3"}}, durability="sync")
    if done["n"] != 7:
        sys.exit(f"langgraph: {done}")
    return {"first_ms": (time.perf_counter() - began) * 1e3}


work = {"nodes": nodes, "turns": turns, "wide": lambda: asyncio.run(wide()), "layers": layers, "paused": paused, "go_on": go_on}
print(json.dumps(work[workload]()))
