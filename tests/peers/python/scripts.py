"""Scripts in Python that read results: what they compute through the gateway is what they compute without it, or they fail.

What comes in: a mode (`legacy`, or a revision), and an address or a command of a gateway; in PEERS_DIRECTLY the command of its
server, in PEERS_SIZES how long tables are. What goes out: a line for each check.
"""

import ast
import asyncio
import csv
import io
import json
import os
import re
import sys
import warnings

warnings.simplefilter("ignore")

from client import check, text  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402
from pydantic_core import from_json  # noqa: E402

PATIENCE = 240
TABLES = [
    "structured",
    "structured_only",
    "structured_and_prose",
    "structured_undeclared",
    "structured_by_name",
    "json_object",
    "json_list",
    "json_pretty",
    "json_parts",
    "csv",
    "python",
    "parts",
    "fails",
]
LARGEST = ["structured_only", "json_object", "parts"]
PROGRAM, MODEL = ({"dev.crossfeed/view": view} for view in ("program", "model"))
CALL_ID = "dev.crossfeed/callId"


def texts(result):
    return [part.text for part in result.content if part.type == "text"]


def every(read, given):
    """What is read of each, where it can be."""
    found = []
    for one in given:
        try:
            found.append(read(one))
        except Exception:  # noqa: BLE001: it fails loudly
            pass
    return found


def unwrapped(result):
    """What the client hands to a script as the result."""
    if result.structured_content is not None:
        return result.structured_content
    said = "\n".join(texts(result))
    try:
        return json.loads(said)
    except ValueError:
        return said


def lines(result):
    return [line for one in texts(result) for line in one.splitlines() if line.strip()]


def begun(said, opening):
    """The value that begins with the first of these."""
    return json.JSONDecoder().raw_decode(said, re.search(opening, said).start())[0]


# Each gives the values that a script may take for the result.
READERS = {
    "the structure": lambda result: [result.structured_content],
    "what a client unwraps": lambda result: [unwrapped(result)],
    "the first text": lambda result: [json.loads(texts(result)[0])],
    "all texts in one": lambda result: [json.loads("".join(texts(result)))],
    "each text": lambda result: every(json.loads, texts(result)),
    "each line": lambda result: every(json.loads, lines(result)),
    "each text as a literal": lambda result: every(ast.literal_eval, texts(result)),
    "each line as a literal": lambda result: every(ast.literal_eval, lines(result)),
    "the first value": lambda result: every(lambda said: begun(said, r"[\[{]"), texts(result)),
    "the first object": lambda result: every(lambda said: begun(said, r"\{"), texts(result)),
    "from the first brace to the last": lambda result: every(lambda said: json.loads(re.search(r"\{.*\}", said, re.S)[0]), texts(result)),
    "from the first bracket to the last": lambda result: every(lambda said: json.loads(re.search(r"\[.*\]", said, re.S)[0]), texts(result)),
    "the same in a line": lambda result: every(lambda said: json.loads(re.search(r"[\[{].*[\]}]", said)[0]), lines(result)),
    "behind the first line": lambda result: every(lambda said: json.loads(said.split("\n", 1)[1]), texts(result)),
    "as far as it goes": lambda result: every(lambda said: from_json(said, allow_partial=True), texts(result)),
    "a table of texts": lambda result: every(lambda said: list(csv.DictReader(io.StringIO(said))) or None, texts(result)[:1]),
}


def rows(value):
    return value if isinstance(value, list) else value["rows"]


SCRIPTS = {
    "sums a column": lambda value: sum(row["amount"] for row in rows(value)),
    "counts rows": lambda value: len([row["id"] for row in rows(value)]),
    "reads one field": lambda value: value["count"],
    "sums by name": lambda value: sum(value.values()),
    "sums a column of texts": lambda value: sum(float(row["amount"]) for row in value if row["name"]),
}


def answers(result, plain=False):
    """By script, every number that is computed, with the way to read the result."""
    found = {title: [] for title in SCRIPTS}
    for reader, read in READERS.items():
        if plain and reader not in ("the structure", "what a client unwraps", "each text", "a table of texts"):
            continue
        try:
            values = read(result)
        except Exception:  # noqa: BLE001: it fails loudly
            continue
        for value in values:
            for title, script in SCRIPTS.items():
                try:
                    given = script(value)
                except Exception:  # noqa: BLE001: so does the script
                    continue
                found[title].append((reader, given))
    return found


def given(result):
    """What the server gave, and what the result is called."""
    whole = result.model_dump(by_alias=True, mode="json", exclude_unset=True)
    whole.pop("resultType", None)
    meta = whole.pop("_meta", None) or {}
    called = meta.pop(CALL_ID, None)
    meta.pop("io.modelcontextprotocol/serverInfo", None)
    return {**whole, **({"_meta": meta} if meta else {})}, called


async def scripts(direct, client, sizes):
    async def schemas(meta):
        plain = {tool.name: tool.output_schema for tool in (await direct.list_tools()).tools}
        through = {tool.name: tool.output_schema for tool in (await client.list_tools(meta=meta)).tools}
        for name, schema in plain.items():
            assert through[name] == (schema if meta is PROGRAM else None), name

    tables = [(name, *size) for size in sizes for name in (LARGEST if size[1] > 1_000_000 else TABLES)]
    # From here on the client holds results to the schemas.
    await check("program: output schemas are listed as they were declared", schemas(PROGRAM))
    for name, size, length in tables:

        async def program(name=name, length=length):
            plain, _ = given(await direct.call_tool(name, {"bytes": length}))
            through, called = given(await client.call_tool(name, {"bytes": length}, meta=PROGRAM))
            assert (called is None) == (name == "fails"), called
            assert through == plain, "it is not what the server gave"

        await check(f"program: {name} of {size} is what the server gave", program())
    await check("model: no tool whose result may be cut says what shape it has", schemas(MODEL))
    for name, size, length in tables:

        async def model(name=name, size=size, length=length):
            plain = answers(await direct.call_tool(name, {"bytes": length}), plain=length > 200_000)
            right = {number for found in plain.values() for _, number in found}
            shown = await client.call_tool(name, {"bytes": length}, meta=MODEL)
            is_cut = text(shown).startswith("[crossfeed preview of ")
            assert is_cut == (size != "1 KB"), text(shown)[:200]
            for title, found in answers(shown).items():
                for reader, number in found:
                    assert number in right, f"{title}, {reader}: {number}, not {right}"

        await check(f"model: no script computes a wrong answer from {name} of {size}", model())

    async def passed():
        result = await client.call_tool("structured", {"bytes": 100_000}, meta=PROGRAM)
        kept = [row for row in result.structured_content["rows"] if row["amount"] > 50]
        call = result.meta[CALL_ID]
        for value in (kept, {"$tool": call, "$select": "rows[?amount > `50`]"}):
            said = json.loads((await client.call_tool("digest", {"value": value}, meta=PROGRAM)).content[0].text)
            assert (said["rows"], said["sum"]) == (len(kept), sum(row["amount"] for row in kept)), said

    await check("program: rows are filtered and passed on, by value and by reference", passed())

    async def refused():
        errors = []
        for one in (direct, client):
            try:
                await one.call_tool("refuse", {"bytes": 1})
            except MCPError as error:
                errors.append(error.error)
        assert len(errors) == 2 and errors[0] == errors[1], errors

    await check("an error of the server is that error", refused())


async def main():
    mode, target, *arguments = sys.argv[1:]
    server = lambda command, *args: StdioServerParameters(command=command, args=args, env=dict(os.environ))  # noqa: E731
    gateway = target if target.startswith("http") else server(target, *arguments)
    directly = server(*json.loads(os.environ["PEERS_DIRECTLY"]))
    async with (
        Client(directly, mode="legacy", read_timeout_seconds=PATIENCE) as direct,
        Client(gateway, mode=mode, read_timeout_seconds=PATIENCE) as client,
    ):
        await scripts(direct, client, json.loads(os.environ["PEERS_SIZES"]))


asyncio.run(main())
