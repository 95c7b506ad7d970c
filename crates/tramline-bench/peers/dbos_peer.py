"""DBOS on SQLite, as a library in this process: `dbos_peer.py WORKLOAD FOLDER [COUNT]`."""
import asyncio, json, logging, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from dbos import DBOS, SetWorkflowID

workload, folder = sys.argv[1], sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
logging.disable(logging.CRITICAL)
# As many connections as concurrent workflows: with fewer they wait for each other until they time
# out.
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "sys_db_pool_size": 64,
             "log_level": "CRITICAL", "run_admin_server": False})


@DBOS.step()
def add(n):
    return n + 1


@DBOS.workflow()
def chain(length):
    n = 0
    for _ in range(length):
        n = add(n)
    return n


@DBOS.step()
def layer_of_tasks(tasks):
    return ["x" for _ in range(tasks)]


@DBOS.workflow()
def walk(deep, tasks):
    for _ in range(deep):
        layer_of_tasks(tasks)


@DBOS.step()
async def sleep(ms):
    await asyncio.sleep(ms / 1e3)


@DBOS.workflow()
async def side_by_side(width, ms):
    await asyncio.gather(*(sleep(ms) for _ in range(width)))


@DBOS.workflow()
async def asking(n):
    return await DBOS.recv_async("answer", timeout_seconds=3600)


def least(work, repeats):
    """The minimum time of several repeats, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def nodes():
    """Every step is recorded: it has no unrecorded steps."""
    return {"node_us": (least(lambda: chain(101), 3) - least(lambda: chain(1), 5)) * 1e4}


def turns():
    return {"turn_us": least(lambda: chain(count), 1 if count > 300 else 3) * 1e6 / count}


def wide():
    return {"wide_ms": min(asyncio.run(timed_wide()))}


async def timed_wide():
    times = []
    for _ in range(3):
        began = time.perf_counter()
        await side_by_side(50, 50)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def layers(deep=20, tasks=5):
    walk(deep, tasks)
    began = time.perf_counter()
    if count == 1:
        walk(deep, tasks)
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda _: walk(deep, tasks), range(count)))
    return {"layer_ms": (time.perf_counter() - began) * 1e3 / (deep * count)}


def resident():
    """The resident memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def start_all(first, last, seconds):
    """Starts workflows until the count is reached or the time is over; returns how many."""
    end = time.perf_counter() + seconds
    for at in range(first, last):
        if time.perf_counter() > end:
            return at - first
        with SetWorkflowID(f"t{at}"):
            await DBOS.start_workflow_async(asking, at)
    return last - first


async def paused():
    # Warm-up: bounded caches are filled before the measurement starts.
    await start_all(0, count, 30)
    await asyncio.sleep(1)
    before = resident()
    made = await start_all(count, 2 * count, 30)
    await asyncio.sleep(1)
    now = resident()
    return {"paused_bytes": (now - before) / made, "process_bytes": now, "made": made}


async def go_on():
    """A new process that recovers paused workflows: the time until the first one resumes."""
    began = time.perf_counter()
    await DBOS.send_async("t3", 7, topic="answer")
    handle = await DBOS.retrieve_workflow_async("t3")
    if await handle.get_result() != 7:
        sys.exit("dbos: wrong answer")
    return {"first_ms": (time.perf_counter() - began) * 1e3}


DBOS.launch()
work = {"nodes": nodes, "turns": turns, "wide": wide, "layers": layers,
        "paused": lambda: asyncio.run(paused()), "go_on": lambda: asyncio.run(go_on())}
print(json.dumps(work[workload]()), flush=True)
# Exit at once: DBOS would wait for the waiting workflows.
os._exit(0)
