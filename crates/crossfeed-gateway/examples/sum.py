"""The official Python client sums a column of a tool's result, as a model reads results and as a program does.

    pip install mcp
    python sum.py
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

server = MCPServer("shop")


@server.tool(structured_output=False)
def orders() -> str:
    """All orders."""
    return json.dumps([{"order": n, "euros": n % 50 + 0.5} for n in range(1000)])


async def main():
    # What is usually in a file of its own: a gateway in front of one server, which is this program.
    config = Path("sum.json")
    config.write_text(json.dumps({"mcpServers": {"shop": {"command": sys.executable, "args": [__file__, "serve"]}}}))
    gateway = StdioServerParameters(command="crossfeed", args=["gateway", "--log", "warn", "--config", str(config)])
    for view in ["model", "program"]:
        async with Client(gateway) as client:
            result = await client.call_tool("orders", meta={"dev.crossfeed/view": view})
            text = result.content[0].text
            try:
                print(f"{view}: {sum(order['euros'] for order in json.loads(text))} euros")
            except json.JSONDecodeError as error:
                print(f"{view}: {error}, in\n{text.splitlines()[0]}")


if sys.argv[1:] == ["serve"]:
    server.run()
else:
    asyncio.run(main())
