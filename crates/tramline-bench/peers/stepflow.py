"""Stepflow, an orchestrator in Rust, driven by its own client: `stepflow.py WORKLOAD FOLDER [COUNT]`."""
import asyncio, json, sys, time
from pathlib import Path
from stepflow_py import StepflowClient

workload, folder = sys.argv[1], sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
store = {"type": "sqlite", "databaseUrl": f"sqlite:{folder}/stepflow.db?mode=rwc"}
config = Path(folder) / "stepflow.json"
config.write_text(json.dumps({
    "plugins": {"builtin": {"type": "builtin"}},
    "routes": {"/builtin": [{"plugin": "builtin"}]},
    "storageConfig": store if workload == "layers" else {"type": "inMemory"},
}))


def chain(length):
    """A chain of steps, each of which passes on the previous output."""
    steps = []
    for at in range(length):
        given = {"$step": f"s{at - 1}"} if at else {"$input": "$"}
        steps.append({"id": f"s{at}", "component": "/builtin/noop", "input": given})
    return {"name": f"chain{length}", "steps": steps, "output": {"$step": f"s{length - 1}"}}


def layered(layers, tasks):
    """Layers of tasks, each of which waits for the whole previous layer."""
    steps = []
    for layer in range(layers):
        for task in range(tasks):
            before = {f"t{at}": {"$step": f"s{layer - 1}_{at}", "path": "n"} for at in range(tasks)}
            given = {"n": 1, **before} if layer else {"n": 1}
            steps.append({"id": f"s{layer}_{task}", "component": "/builtin/noop", "input": given})
    return {"name": "layers", "steps": steps, "output": {"$step": f"s{layers - 1}_0"}}


async def least(client, flow, repeats):
    """The minimum time of a run of a flow in seconds, without its first run."""
    stored = (await client.store_flow(flow)).flow_id
    best = float("inf")
    for at in range(repeats + 1):
        began = time.perf_counter()
        done = await client.run(stored, {"n": 1})
        took = time.perf_counter() - began
        if at == 0:
            check(done)
        else:
            best = min(best, took)
    return best


def turning(times):
    """A flow that repeats `times` times: its output is its next input."""
    step = {"id": "pass", "component": "/builtin/noop", "input": {"$input": "$"}}
    flow = {"steps": [step], "output": {"next": {"$step": "pass"}}}
    given = {"flow": {"$literal": flow}, "initial_input": {"n": 1}, "max_iterations": times}
    step = {"id": "again", "component": "/builtin/iterate", "input": given}
    return {"name": f"turns{times}", "steps": [step], "output": {"$step": "again"}}


def sleeping(width, ms):
    """Parallel steps, each of which sleeps; there is no MCP server behind them."""
    step = {"component": "/builtin/sleep", "input": {"duration_ms": ms}}
    steps = [{"id": f"s{at}", **step} for at in range(width)]
    return {"name": "wide", "steps": steps, "output": [{"$step": f"s{at}"} for at in range(width)]}


def check(done):
    """Fails if the run failed."""
    text = str(done).lower()
    if "fail" in text or "error" in text:
        said = [line.strip() for line in str(done).splitlines() if "error_" in line]
        sys.exit(f"stepflow: {', '.join(said) or done}")


async def main():
    async with StepflowClient.local(config, log_level="error") as client:
        if workload == "nodes":
            one, many = await least(client, chain(1), 20), await least(client, chain(101), 20)
            return {"node_us": (many - one) * 1e4}
        if workload == "turns":
            return {"turn_us": await least(client, turning(count), 1) * 1e6 / count}
        if workload == "wide":
            return {"wide_ms": await least(client, sleeping(50, 50), 3) * 1e3}
        if workload == "layers":
            flow = (await client.store_flow(layered(20, 5))).flow_id
            check(await client.run(flow, {}))
            began = time.perf_counter()
            await asyncio.gather(*(client.run(flow, {}) for _ in range(count)))
            return {"layer_ms": (time.perf_counter() - began) * 1e3 / (20 * count)}
        sys.exit(f"stepflow: unknown workload {workload}")


print(json.dumps(asyncio.run(main())))
