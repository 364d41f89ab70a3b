"""Python's jmespath, asked over standard input: one JSON object a line, one answer a line.

    python3 python.py FOLDER     the folder that holds python/, into which the package was installed

What is timed is a loop in this process: the document is parsed before ("evaluate") or within it
("parse"), the expression is compiled before, and each answer is written as JSON in UTF-8.
"""

import json
import os
import platform
import sys
import time

sys.path.insert(0, os.path.join(sys.argv[1], "python"))
try:
    import jmespath
except ImportError:
    jmespath = None


def write(answer):
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def timed(times, once):
    start = time.perf_counter_ns()
    for _ in range(times):
        once()
    return {"nanoseconds": time.perf_counter_ns() - start}


class Peer:
    def open(self, file):
        with open(file, "rb") as source:
            self.bytes = source.read()
        self.value = json.loads(self.bytes)
        return {}

    def compile(self, expression):
        self.search = jmespath.compile(expression).search
        return {}

    def answer(self):
        return {"answer": write(self.search(self.value)).decode()}

    def evaluate(self, times):
        search, value = self.search, self.value
        return timed(times, lambda: write(search(value)))

    def parse(self, times):
        search, raw = self.search, self.bytes
        return timed(times, lambda: write(search(json.loads(raw))))


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    if jmespath is None:
        say({"missing": "the Python package jmespath is not installed"})
        return
    say({"version": f"jmespath.py {jmespath.__version__} on Python {platform.python_version()}, compiled once"})
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say(getattr(peer, request.pop("do"))(**request))
        except Exception as error:
            say({"error": repr(error)})


main()
