# A graph of layers with its SQLite saver: a checkpoint after each superstep.
import sqlite3, sys, time
from typing import Annotated, TypedDict
import operator
from langgraph.graph import StateGraph, START, END
from langgraph.checkpoint.sqlite import SqliteSaver

folder, layers, tasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

class State(TypedDict):
    done: Annotated[list, operator.add]

graph = StateGraph(State)
names = [[f"t{layer}_{task}" for task in range(tasks)] for layer in range(layers)]
for layer in range(layers):
    for name in names[layer]:
        graph.add_node(name, lambda state: {"done": ["x"]})
        if layer == 0:
            graph.add_edge(START, name)
        else:
            graph.add_edge(names[layer - 1], name)
graph.add_edge(names[-1], END)
connection = sqlite3.connect(f"{folder}/langgraph.db", check_same_thread=False)
connection.execute("PRAGMA synchronous=FULL")
app = graph.compile(checkpointer=SqliteSaver(connection))

def walk(thread):
    config = {"configurable": {"thread_id": thread}, "recursion_limit": 1000}
    app.invoke({"done": []}, config, durability="sync")

walk("warm")
began = time.perf_counter()
walk("measured")
print((time.perf_counter() - began) * 1e3 / layers)
