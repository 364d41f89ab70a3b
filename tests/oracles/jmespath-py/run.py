"""Reads one {"expression"} a line, writes true or false a line: whether it parses."""

import json
import sys

from jmespath.exceptions import JMESPathError
from jmespath.parser import Parser

for line in sys.stdin:
    try:
        Parser().parse(json.loads(line)["expression"])
        print("true")
    except JMESPathError:
        print("false")
