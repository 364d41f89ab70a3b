"""The client of the Python SDK, tried with the gateway, in both eras and over both transports.

What comes in: which servers are behind (`servers`, `everything`, `mistakes`), a mode (`legacy`, `auto`, or a revision), and an
address or a command. What goes out: a line for each check.
"""

import asyncio
import json
import logging
import os
import re
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402
import mcp_types as types  # noqa: E402

PATIENCE = 45


async def check(name, body):
    try:
        given = await asyncio.wait_for(body, PATIENCE)
        print(f"ok {name}", flush=True)
        return given
    except BaseException as error:  # noqa: BLE001: every way to fail is a line
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said = re.sub(r"\s+", " ", f"{type(error).__name__} {error}")[:400]
        print(f"FAIL {name}: {said}", flush=True)
        return None


def text(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


def call_id(result):
    said = text(result)
    found = re.search(r'"_toolCallId":"(\w+)"|^\[crossfeed preview of (\w+):', said, re.M)
    assert found, f"no call id in {said[:300]}"
    return found[1] or found[2]


def reference(call, select=None):
    return {"$tool": call, **({"$select": select} if select else {})}


async def sampling(_context, _params):
    return types.CreateMessageResult(
        role="assistant", model="a-model", content=types.TextContent(type="text", text="sampled words")
    )


async def elicitation(_context, _params):
    return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/project", name="project")])


async def listed(client):
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools


async def servers(client, era):
    """Time, git and duckdb behind one gateway."""
    repository = os.environ["PEERS_REPOSITORY"]

    async def names():
        found = [tool.name for tool in await listed(client)]
        for name in ["get_current_time", "git_log"]:
            assert name in found, found
        assert found[0] == "inspect_tool_output", found[0]
        return found

    found = await check("tools of all servers are listed, ours first", names()) or []

    async def convert():
        now = await client.call_tool("get_current_time", {"timezone": "Etc/UTC"})
        assert not now.is_error, text(now)
        converted = await client.call_tool(
            "convert_time",
            {
                "source_timezone": reference(call_id(now), "timezone"),
                "time": "12:34",
                "target_timezone": "Asia/Tokyo",
            },
        )
        assert not converted.is_error, text(converted)
        assert "21:34" in json.dumps(converted.structured_content or text(converted)), text(converted)

    await check("a time zone of one result goes into another call, validated", convert())

    async def log():
        shown = await client.call_tool("git_log", {"repo_path": repository, "max_count": 3})
        assert not shown.is_error and "a second commit" in text(shown), text(shown)
        branch = await client.call_tool("git_branch", {"repo_path": repository, "branch_type": "local"})
        assert not branch.is_error, text(branch)
        return call_id(shown)

    commits = await check("git answers", log())

    async def wrong():
        result = await client.call_tool("git_show", {"repo_path": repository, "revision": "no-such-revision"})
        assert result.is_error, text(result)

    await check("an error of git is an error", wrong())

    async def missing():
        result = await client.call_tool("git_show", {"repo_path": repository, "revision": reference("call_9999")})
        assert result.is_error and "call_9999" in text(result), text(result)

    await check("a reference to nothing is a tool error", missing())

    if "query" in found:

        async def store():
            await client.call_tool("query", {"query": f"create or replace table t_{era} as select range as n from range(5000)"})
            rows = await client.call_tool("query", {"query": f"select n, 'row ' || n as name from t_{era} order by n"})
            assert not rows.is_error, text(rows)[:200]
            assert "crossfeed" in text(rows), text(rows)[:200]
            return call_id(rows)

        large = await check("duckdb: a large table is shown as a preview", store())

        async def across():
            asked = await client.call_tool("query", {"query": reference(commits)})
            assert "Commit history" in text(asked), f"the database quotes what it was asked: {text(asked)[:300]}"
            kept = await client.call_tool("read_result", {"call_id": large})
            assert not kept.is_error, text(kept)[:300]

        await check("duckdb: a result of git goes where a query stands, and the rest of the table is read", across())


async def everything(client, era):
    async def names():
        found = [tool.name for tool in await listed(client)]
        assert "echo" in found and found[0] == "inspect_tool_output", found

    await check("tools are listed, ours first", names())

    async def echo():
        assert "hello „you“" in text(await client.call_tool("echo", {"message": "hello „you“"}))

    await check("a call is answered", echo())

    async def chain():
        first = await client.call_tool("get-structured-content", {"location": "Chicago"})
        warm = first.structured_content["temperature"]
        total = await client.call_tool("get-sum", {"a": reference(call_id(first), "temperature"), "b": 1000})
        assert str(warm + 1000) in text(total), text(total)

    await check("a number of one result goes into another call", chain())

    async def unknown():
        try:
            refused = await client.call_tool("no-such-tool", {})
        except MCPError as error:
            assert error.error.code == -32602, error
            return
        assert refused.is_error, refused
        assert "tool.unknown" not in text(refused), text(refused)

    await check("an unknown tool is refused by its server", unknown())

    async def resources():
        found = (await client.list_resources()).resources
        read = await client.read_resource(found[0].uri)
        assert read.contents
        assert (await client.list_resource_templates()).resource_templates

    await check("resources are listed and read", resources())

    async def prompts():
        found = (await client.list_prompts()).prompts
        simple = next(prompt for prompt in found if not prompt.arguments)
        assert (await client.get_prompt(simple.name)).messages

    await check("prompts are listed and got", prompts())

    async def progress():
        seen = []

        async def on(done, total, _message):
            seen.append((done, total))

        result = await client.call_tool(
            "trigger-long-running-operation", {"duration": 0.4, "steps": 4}, progress_callback=on
        )
        assert "completed" in text(result)
        assert seen[:3] == [(1, 4), (2, 4), (3, 4)], seen

    await check("progress arrives in order", progress())
    asked = {
        "samples from the client": ("trigger-sampling-request", {"prompt": "words", "maxTokens": 9}, "sampled words"),
        "asks the user": ("trigger-elicitation-request", {}, "Ada"),
        "lists the roots of the client": ("get-roots-list", {}, "file:///tmp/project"),
    }
    for what, (tool, arguments, word) in asked.items():

        async def ask(tool=tool, arguments=arguments, word=word):
            result = await client.call_tool(tool, arguments)
            assert word in text(result), text(result)

        await check(f"the server {what}", ask())

    async def cancel():
        task = asyncio.create_task(client.call_tool("trigger-long-running-operation", {"duration": 20, "steps": 20}))
        await asyncio.sleep(0.3)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        assert "alive" in text(await client.call_tool("echo", {"message": "alive"}))

    await check("a cancelled call is over, and the connection lives on", cancel())

    async def many():
        answers = await asyncio.gather(*(client.call_tool("echo", {"message": f"<{n}>"}) for n in range(50)))
        for n, answer in enumerate(answers):
            assert f"<{n}>" in text(answer)

    await check("fifty calls at once get each its own answer", many())


async def mistakes(client, era):
    async def names():
        found = [tool.name for tool in await listed(client)]
        assert len(found) > 30, len(found)
        return found

    for name in await check("the list of all mistakes is accepted", names()) or []:
        if name in ("inspect_tool_output", "read_result", "list_results"):
            continue

        async def call(name=name):
            result = await client.call_tool(name, {"region": "eu"} if name == "header" else {})
            assert isinstance(result.content, list)

        await check(f"a result of {name} is accepted", call())


async def main():
    theme, mode, target, *arguments = sys.argv[1:]
    where = target if target.startswith("http") else StdioServerParameters(command=target, args=arguments, env=dict(os.environ))
    async with Client(
        where,
        mode=mode,
        sampling_callback=sampling,
        elicitation_callback=elicitation,
        list_roots_callback=roots,
        read_timeout_seconds=PATIENCE,
    ) as client:
        expected = {"2025-06-18", "2025-11-25"} if mode == "legacy" else {"2026-07-28"}
        if "PEERS_DIRECT" not in os.environ:

            async def revision():
                assert client.protocol_version in expected, client.protocol_version

            await check("the revision is of the era", revision())
        era = "legacy" if mode == "legacy" else "modern"
        await {"servers": servers, "everything": everything, "mistakes": mistakes}[theme](client, era)


if __name__ == "__main__":
    asyncio.run(main())
