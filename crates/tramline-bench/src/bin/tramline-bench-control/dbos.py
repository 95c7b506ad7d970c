# A workflow whose steps are recorded one by one, on SQLite.
import logging, sys, time
from dbos import DBOS

folder, layers, tasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
logging.disable(logging.CRITICAL)
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "CRITICAL", "run_admin_server": False})

@DBOS.step()
def layer_of_tasks(layer):
    return ["x" for _ in range(tasks)]

@DBOS.workflow()
def walk():
    for layer in range(layers):
        layer_of_tasks(layer)

DBOS.launch()
walk()
began = time.perf_counter()
walk()
print((time.perf_counter() - began) * 1e3 / layers)
DBOS.destroy()
