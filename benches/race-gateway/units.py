"""What one call costs the gateway and Redis: processor time, scripts and bytes, for `docs/scaling.md`.

    python3 benches/race-gateway/units.py GATEWAY FIXTURE [CALLS]

GATEWAY is `crossfeed` with the feature `redis`, FIXTURE is `crossfeed-fixture`, both as releases. Starts `redis-server` and two
replicas on loopback, and ends them.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Client:
    """A client with a session, on one connection."""

    def __init__(self, port, session=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.session = session
        self.number = 0
        if session is None:
            introduction = {"name": "units", "version": "1"}
            self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": introduction})
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message):
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.session:
            headers["mcp-session-id"] = self.session
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = self.connection.getresponse()
        body = answer.read().decode()
        assert answer.status in (200, 202), (answer.status, body)
        self.session = self.session or answer.getheader("mcp-session-id")
        return body

    def ask(self, method, params):
        self.number += 1
        return self.post({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})

    def echo(self, text):
        body = self.ask("tools/call", {"name": "echo", "arguments": {"message": text}})
        found = re.findall(r"call_\d+", body)
        assert found, body
        return found[-1]


def processor_time(process):
    """Microseconds in user and system mode."""
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000 // TICK


def resident(process):
    """KiB."""
    with open(f"/proc/{process.pid}/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def main():
    gateway, fixture = sys.argv[1:3]
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    redis_port, ports = free_port(), [free_port(), free_port()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    redis = subprocess.Popen(command, **quiet)
    replicas = []

    def ask_redis(*words):
        asked = subprocess.run(["redis-cli", "-p", str(redis_port), *words], capture_output=True, text=True, check=True)
        return asked.stdout

    def measure(name, action, count):
        time.sleep(0.5)
        processes = [*replicas, redis]
        before = [processor_time(process) for process in processes]
        ask_redis("CONFIG", "RESETSTAT")
        began = time.monotonic()
        for _ in range(count):
            action()
        each = (time.monotonic() - began) / count * 1_000_000
        used = [(processor_time(process) - was) / count for process, was in zip(processes, before)]
        scripts = re.search(r"cmdstat_evalsha:calls=(\d+),usec=(\d+)", ask_redis("INFO", "commandstats"))
        number, took = (int(scripts[1]), int(scripts[2])) if scripts else (0, 0)
        stats = ask_redis("INFO", "stats")
        sent, received = (int(re.search(rf"total_net_{way}_bytes:(\d+)", stats)[1]) for way in ("input", "output"))
        print(
            f"{name}: {each:.0f} us; processor: replicas {used[0]:.0f} and {used[1]:.0f} us, Redis {used[2]:.0f} us; "
            f"{number / count:.2f} scripts of {took / max(number, 1):.1f} us; "
            f"{sent / count:.0f} bytes to Redis, {received / count:.0f} back",
            flush=True,
        )

    try:
        with tempfile.TemporaryDirectory() as folder:
            for port in ports:
                config = os.path.join(folder, f"{port}.json")
                address = f"127.0.0.1:{port}"
                with open(config, "w") as file:
                    json.dump(
                        {
                            "mcpServers": {"fixture": {"command": fixture, "args": ["--stdio"]}},
                            "listen": {"address": address, "advertise": f"http://{address}"},
                            "store": {"url": f"redis://127.0.0.1:{redis_port}"},
                            "limits": {"sessionResults": 1_000_000},
                            "anonymous": True,
                        },
                        file,
                    )
                words = [gateway, "gateway", "--log", "error", "--config", config]
                replicas.append(subprocess.Popen(words, **quiet))
            time.sleep(3)
            owner = Client(ports[0])
            other = Client(ports[1], owner.session)
            small, large = "x" * 1_000, "x" * 100_000
            owner.echo(small)
            measure("a call of 1 KB", lambda: owner.echo(small), calls)
            reference = {"$tool": owner.echo(small)}
            measure("with a reference", lambda: owner.echo(reference), calls)
            measure("through another replica", lambda: other.echo(small), calls)
            measure("a call of 100 KB", lambda: owner.echo(large), calls // 10)
            measure("a list of tools", lambda: owner.ask("tools/list", {}), calls)
            held, memory = int(ask_redis("DBSIZE")), resident(replicas[0])
            measure("a session", lambda: Client(ports[0]), 100)
            print(f"a session: {(resident(replicas[0]) - memory) / 100:.0f} KiB in its replica; {held} keys before")
    finally:
        for process in [*replicas, redis]:
            process.terminate()
        for process in [*replicas, redis]:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    main()
