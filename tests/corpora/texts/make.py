#!/usr/bin/env python3
"""Packs texts.zlib from unpacked packages: make.py FOLDER, with a folder for each name in the first column of SOURCE.md.

A line for each text: a JSON list of the group and the text. The same packages give the same bytes.
"""

import json
import pathlib
import re
import sys
import zlib

(root,) = map(pathlib.Path, sys.argv[1:])
here = pathlib.Path(__file__).parent
MAX_TEXT = 1500

# Group, package, patterns of files, most texts.
GROUPS = [
    ("handlebars", "openapi", ["**/*.handlebars"], 500),
    ("mustache", "openapi", ["**/*.mustache"], 1800),
    ("mustache", "pystache", ["**/*.mustache", "**/*.yml"], 200),
    ("jinja", "nbconvert", ["**/*.j2"], 200),
    ("jinja", "cookiecutter", ["**/*.md", "**/*.rst", "**/*.json", "**/*.html"], 300),
    ("jinja", "jinja2", ["**/*.rst", "**/*.html", "**/*.j2", "tests/*.py"], 500),
    ("django", "django", ["**/templates/**/*.html", "**/*-tpl"], 500),
    ("liquid", "liquid", ["**/*.md", "**/*.py", "**/*.html", "**/*.liquid"], 600),
    ("ejs", "angular", ["**/*.template"], 300),
    ("ejs", "ejs", ["**/*.md", "**/*.ejs", "lib/**/*.js"], 100),
    ("emails", "mail_parser", ["**/*.eml"], 500),
    ("actions", "crates", ["**/.github/**/*.yml"], 500),
    ("shell", "crates", ["**/*.sh"], 300),
    ("toml", "crates", ["**/Cargo.toml.orig"], 200),
    ("changelogs", "crates", ["**/CHANGELOG.md"], 1000),
    ("readmes", "crates", ["**/README.md"], 800),
    ("readmes", "npm", ["*/README.md"], 400),
    ("rust", "crates", ["**/src/**/*.rs"], 800),
    ("c", "crates", ["**/*.c"], 300),
    ("python", "click", ["**/*.py"], 300),
    ("python", "django", ["django/contrib/**/*.py"], 400),
    ("javascript", "npm", ["lodash*/*.js", "express*/lib/*.js", "codemirror*/mode/**/*.js"], 700),
    ("typescript", "reactnative", ["**/*.d.ts", "**/*.ts", "**/*.tsx"], 300),
    ("java", "reactnative", ["**/*.java"], 300),
    ("kotlin", "reactnative", ["**/*.kt"], 300),
    ("objective-c", "reactnative", ["**/*.m", "**/*.mm"], 200),
    ("swift", "reactnative", ["**/*.swift"], 60),
    ("ruby", "reactnative", ["**/*.rb", "**/*.podspec"], 300),
    ("css", "npm", ["codemirror*/**/*.css"], 100),
    ("snippets", "pygments", ["tests/snippets/**/*.txt"], 1100),
]


def pieces(text):
    """Paragraphs, put together up to some length, and lines that look like templates."""
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
    held = ""
    for index, paragraph in enumerate(paragraphs):
        if held and (len(held) > 200 * (1 + index % 4) or len(held) + len(paragraph) > MAX_TEXT):
            yield held
            held = ""
        held = f"{held}\n\n{paragraph}" if held else paragraph
    if held:
        yield held
    for line in text.splitlines():
        line = line.strip()
        if len(line) < 100 and re.search(r"\{\{|\$\{|\{%|<%|\$\w+\.", line):
            yield line


def texts(package, patterns):
    seen = set()
    for pattern in patterns:
        for path in sorted((root / package).glob(pattern)):
            try:
                content = path.read_text(encoding="utf-8") if path.is_file() else ""
            except UnicodeDecodeError:
                content = path.read_text(encoding="latin-1") if path.suffix == ".eml" else ""
            for piece in pieces(content[:40_000]):
                # What names a call of the test's session is no text without references.
                if 12 <= len(piece) <= MAX_TEXT and piece not in seen and not re.search(r"call_|toolu_", piece):
                    seen.add(piece)
                    yield piece


lines = []
for group, package, patterns, most in GROUPS:
    found = list(texts(package, patterns))
    step = max(1, len(found) / most)
    kept = [found[int(index * step)] for index in range(min(most, len(found)))]
    print(f"{group} from {package}: {len(kept)} of {len(found)}", file=sys.stderr)
    lines += [json.dumps([group, text], ensure_ascii=False) for text in kept]
packed = zlib.compress("\n".join(lines).encode(), 9)
(here / "texts.zlib").write_bytes(packed)
print(f"{len(lines)} texts, {sum(map(len, lines))} characters, {len(packed)} bytes", file=sys.stderr)
