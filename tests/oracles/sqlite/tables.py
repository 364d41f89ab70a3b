"""Answers SQL over results with Python's own SQLite: tables as `specs/explore.md` says, made here once more.

Reads lines of JSON from standard input: {"results": {NAME: JSON text}, "statements": [SQL, ...]}. Writes a line for each, a list
with the rows of each statement as lists, or the message of an error.
"""

import csv
import io
import json
import sqlite3
import sys


def kind(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "INTEGER" if -(2**63) <= value < 2**63 else ""
    if isinstance(value, float):
        return "REAL"
    return "TEXT" if isinstance(value, str) else "JSON"


def merged(kinds):
    kinds = {one for one in kinds if one is not None}
    if len(kinds) == 1:
        return kinds.pop()
    return "NUMERIC" if kinds and kinds <= {"INTEGER", "REAL"} else ""


def stored(value, declared):
    if isinstance(value, bool) and not declared:
        return json.dumps(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def distinct(name, names):
    number, own = 1, name
    while own.lower() in names:
        number += 1
        own = f"{name}_{number}"
    names.add(own.lower())
    return own


def create(database, name, keys, rows):
    """`keys` name the columns, `rows` are lists of values."""
    names = set()
    kinds = [merged(kind(row[at]) for row in rows) for at, key in enumerate(keys)]
    columns = [quoted(distinct(key, names)) + " " + own for key, own in zip(keys, kinds)]
    database.execute(f"CREATE TABLE {quoted(name)} ({','.join(columns)})")
    places = ",".join("?" * len(keys))
    database.executemany(f"INSERT INTO {quoted(name)} VALUES ({places})", ([stored(value, own) for value, own in zip(row, kinds)] for row in rows))


MOST = 250


def create_list(database, name, items):
    every = list(dict.fromkeys(key for item in items if isinstance(item, dict) for key in item))
    keys, others = every[:MOST], every[MOST:]
    has_values = not keys or any(not isinstance(item, dict) for item in items)
    rows = []
    for item in items:
        is_object = isinstance(item, dict)
        row = [item.get(key) if is_object else None for key in keys]
        if has_values:
            row.append(None if is_object else item)
        if others:
            row.append({key: item[key] for key in item if key in others} or None if is_object else None)
        rows.append(row)
    create(database, name, keys + ["value"] * has_values + ["rest"] * bool(others), rows)


def holds_lists(value, depth):
    inner = value.values()
    return any(isinstance(one, list) or isinstance(one, dict) and depth > 0 and holds_lists(one, depth - 1) for one in inner)


def walk(value, around, depth, own, lists):
    for key, one in value.items():
        name = f"{around}_{key}" if around else key
        if isinstance(one, list) and len(lists) < 64:
            lists.append((name, one))
        elif isinstance(one, dict) and holds_lists(one, 5 - depth - 1):
            walk(one, name, depth + 1, own, lists)
        else:
            own.append((name, one))


def number(text):
    try:
        whole = int(text)
        if str(whole) == text:
            return whole
    except ValueError:
        pass
    return float(text)


def is_number(text):
    try:
        number(text)
    except ValueError:
        return False
    return not (len(text) > 1 and text[0] == "0" and text[1].isdigit())


def create_separated(database, name, text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    columns = list(zip(*rows[1:]))
    typed = []
    for column in columns:
        filled = [one for one in column if one]
        if filled and all(is_number(one) for one in filled):
            typed.append([number(one) if one else None for one in column])
        else:
            typed.append(list(column))
    create(database, name, rows[0], list(zip(*typed)))


def load(database, name, text):
    value = json.loads(text)
    if isinstance(value, str):
        create_separated(database, name, value)
    elif isinstance(value, list):
        create_list(database, name, value)
    else:
        own, lists, names = [], [], {name.lower()}
        walk(value, "", 0, own, lists)
        if len(own) > MOST:
            own[MOST:] = [("rest", dict(own[MOST:]))]
        if own or not lists:
            create(database, name, [key for key, _ in own], [[one for _, one in own]])
        for path, items in lists:
            create_list(database, distinct(f"{name}_{path}", names), items)


for line in sys.stdin:
    question = json.loads(line)
    database = sqlite3.connect(":memory:")
    for name, text in question["results"].items():
        load(database, name, text)
    answers = []
    for statement in question["statements"]:
        try:
            answers.append([list(row) for row in database.execute(statement)])
        except sqlite3.Error as error:
            answers.append(str(error))
    print(json.dumps(answers))
