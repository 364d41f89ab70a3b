"""A plugin of pytest that puts real sockets, pipes and a gateway between the clients and servers of the SDK's interaction suite.

What comes in, by the environment: the gateway's command (`PEERS_GATEWAY`; without it clients talk to servers themselves), its
options (`PEERS_OPTIONS`, JSON), which cells of the suite's own matrix (`PEERS_LEGS`), which share of these (`PEERS_SHARE`, `0/2`)
or which of them only (`PEERS_ONLY`). What goes out: a line of JSON for each test in `PEERS_OUTCOMES`. Nothing of the suite is
changed on disk: its fixture `connect` gets other ways to connect. Tests that do not use it are left out.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import pytest
import uvicorn

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

GATEWAY = os.environ.get("PEERS_GATEWAY")
OPTIONS = json.loads(os.environ.get("PEERS_OPTIONS", "{}"))
LEGS = json.loads(os.environ.get("PEERS_LEGS", "[]"))
ONLY = json.loads(os.environ.get("PEERS_ONLY", "null"))
SHARE, SHARES = (int(part) for part in os.environ.get("PEERS_SHARE", "0/1").split("/"))
PATIENCE = 20
OWN_TOOLS = {"inspect_tool_output", "read_result", "list_results"}

# A leg is a way to connect in front of the gateway and one behind it, for a transport of the suite's matrix.
WAYS = {
    "stdio": ("in-memory", "stdio", "stdio"),
    "HTTP": ("streamable-http", "HTTP", "HTTP"),
    "HTTP without sessions": ("streamable-http-stateless", "HTTP", "HTTP without sessions"),
    "HTTP to stdio": ("in-memory", "HTTP", "stdio"),
}

# Copies lines between its own pipes and a socket of the test's process: a server's command whose objects the test can see.
RELAY = """
import os, socket, sys, threading
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def out():
    while data := peer.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=out, daemon=True).start()
while data := os.read(0, 65536):
    peer.sendall(data)
peer.shutdown(socket.SHUT_WR)
threading.Event().wait(2)
"""


class Web(uvicorn.Server):
    """Ends when it is told, and not at the next tenth of a second; leaves signals to pytest."""

    def __init__(self, config):
        super().__init__(config)
        self.ended = anyio.Event()

    @contextmanager
    def capture_signals(self):
        yield

    async def main_loop(self):
        await self.on_tick(0)
        await self.ended.wait()

    async def shutdown(self, sockets=None):
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self.lifespan.shutdown()
        for task in list(self.server_state.tasks):
            task.cancel()


@asynccontextmanager
async def served_over_http(server, stateless):
    """The server over real HTTP: its address."""
    app = server.streamable_http_app(
        stateless_http=stateless, transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    listener = socket.create_server(("127.0.0.1", 0))
    web = Web(uvicorn.Config(app, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: web.serve(sockets=[listener]))
        with anyio.fail_after(PATIENCE):
            while not web.started:
                await anyio.sleep(0.002)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            web.ended.set()
    listener.close()


@asynccontextmanager
async def served_over_stdio(server):
    """The server over standard input and output: its command. Each process of the command is a connection."""
    server = server._lowlevel_server if isinstance(server, MCPServer) else server
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    peers = []

    async def serve(peer):
        with peer, peer.makefile("r", encoding="utf-8") as lines, peer.makefile("w", encoding="utf-8") as out:
            with suppress(OSError):
                async with stdio_server(anyio.wrap_file(lines), anyio.wrap_file(out)) as (read, write):
                    await server.run(read, write, server.create_initialization_options())

    async def accept():
        while True:
            await anyio.wait_readable(listener)
            peer, _ = listener.accept()
            peer.setblocking(True)
            peers.append(peer)
            tasks.start_soon(serve, peer)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(accept)
        try:
            yield {"command": sys.executable, "args": ["-I", "-S", "-c", RELAY, str(listener.getsockname()[1])]}
        finally:
            # A reader in a thread ends with its socket, and not by being cancelled.
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            tasks.cancel_scope.cancel()
    listener.close()


@asynccontextmanager
async def gateway_over_http(file):
    """A gateway that listens: its address."""
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            [GATEWAY, "gateway", "--config", file, "--listen", "127.0.0.1:0", "--anonymous"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            with anyio.fail_after(PATIENCE):
                while not (found := re.search(rb"127\.0\.0\.1:[1-9]\d*", os.pread(log.fileno(), 100_000, 0))):
                    await anyio.sleep(0.002)
            yield f"http://{found[0].decode()}/mcp"
        finally:
            child.send_signal(signal.SIGTERM)
            with anyio.CancelScope(shield=True):
                # Not on the loop, on which the server has to answer until the gateway has ended.
                await anyio.to_thread.run_sync(ended, child)


def ended(child):
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Shown:
    """What a stream gives, without what a gateway that chains adds on purpose: call ids and tools of its own."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def receive(self):
        item = await self.inner.receive()
        result = getattr(getattr(item, "message", None), "result", None)
        if isinstance(result, dict):
            plain(result)
        return item

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self):
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *how):
        return await self.inner.__aexit__(*how)


def plain(result):
    if isinstance(result.get("tools"), list):
        result["tools"] = [tool for tool in result["tools"] if tool.get("name") not in OWN_TOOLS]
    content = result.get("content")
    if isinstance(content, list) and content and str(content[-1].get("text", "")).startswith('{"_toolCallId":'):
        content.pop()
    if isinstance(result.get("structuredContent"), dict):
        result["structuredContent"].pop("_toolCallId", None)


@asynccontextmanager
async def shown(transport):
    async with transport as (read, write):
        yield Shown(read), write


@asynccontextmanager
async def connected(leg, server, *, spec_version=LATEST_HANDSHAKE_VERSION, **kwargs):
    """What the suite's factories give: a client, connected to the server."""
    _, front, behind = WAYS[leg]
    async with AsyncExitStack() as stack:
        if behind == "stdio":
            entry = await stack.enter_async_context(served_over_stdio(server))
        else:
            entry = {"url": await stack.enter_async_context(served_over_http(server, behind != "HTTP"))}
        if not GATEWAY:
            transport = stdio_client(StdioServerParameters(**entry)) if "command" in entry else streamable_http_client(entry["url"])
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crossfeed-suite-")))
            file = folder / "gateway.json"
            options = {name: value for name, value in OPTIONS.items() if name != "server"}
            file.write_text(
                json.dumps({"mcpServers": {"server": {**entry, **OPTIONS.get("server", {})}}, **options}), encoding="utf-8"
            )
            if front == "stdio":
                log = stack.enter_context(open(folder / "log", "w", encoding="utf-8"))
                transport = stdio_client(StdioServerParameters(command=GATEWAY, args=["gateway", "--config", str(file)]), errlog=log)
            else:
                transport = streamable_http_client(await stack.enter_async_context(gateway_over_http(str(file))))
            if "neverChain" not in OPTIONS.get("server", {}):
                transport = shown(transport)
        mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
        yield await stack.enter_async_context(Client(transport, mode=mode, **kwargs))


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


def pytest_ignore_collect(collection_path):
    if collection_path.name.startswith("test_") and "connect: Connect" not in collection_path.read_text(encoding="utf-8"):
        return True
    return None


def pytest_collection_modifyitems(items):
    import tests.interaction.conftest as suite
    from functools import partial

    leg_of = {WAYS[leg][0]: leg for leg in LEGS}
    suite._FACTORIES.clear()
    suite._FACTORIES.update({transport: partial(connected, leg) for transport, leg in leg_of.items()})
    kept = []
    for item in items:
        transport, revision = getattr(item, "callspec", None) and item.callspec.params.get("connect") or (None, None)
        if transport in leg_of:
            item.peers_cell = [f"{revision}, {leg_of[transport]}", f"{item.path.parent.name}/{item.path.stem}::{item.originalname}"]
            if ONLY is None or item.peers_cell in ONLY:
                kept.append(item)
    items[:] = kept[SHARE::SHARES]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" or report.outcome == "failed":
        shape, test = item.peers_cell
        told = {"shape": shape, "test": test, "outcome": "ok" if report.outcome != "failed" else "FAIL"}
        if report.outcome == "failed":
            problem = call.excinfo.value
            while getattr(problem, "exceptions", None):
                problem = problem.exceptions[0]
            told["why"] = f"{type(problem).__name__}: {problem}"[:2000]
        with open(os.environ["PEERS_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
