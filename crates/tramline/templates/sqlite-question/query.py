"""Runs the statement on standard input and prints the rows as JSON. The database cannot be changed."""

import json
import os
import sqlite3
import sys

ROWS_MAX = 200

if not os.path.exists("shop.db"):
    with open("shop.sql", encoding="utf-8") as script, sqlite3.connect("shop.db") as made:
        made.executescript(script.read())

with sqlite3.connect("file:shop.db?mode=ro", uri=True) as database:
    cursor = database.execute(sys.stdin.read())
    columns = [column[0] for column in cursor.description or []]
    print(json.dumps({"columns": columns, "rows": cursor.fetchmany(ROWS_MAX)}))
