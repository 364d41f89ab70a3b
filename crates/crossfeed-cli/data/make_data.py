#!/usr/bin/env python3
"""Makes css-compat.json and browsers.json from the npm package @mdn/browser-compat-data.

    python3 make_data.py path/to/unpacked/package

Values are the package's own, untouched and in its order; only the arrangement is new. The same package gives the same bytes.
"""

import json
import sys
from pathlib import Path

SOURCE = "@mdn/browser-compat-data"
LICENCE = "CC0-1.0"
COMPAT_FIELDS = ("mdn_url", "spec_url", "status", "support", "tags")
RELEASE_FIELDS = ("release_date", "status", "engine", "engine_version", "release_notes")


def pick(record, fields):
    """The named fields that the record has."""
    return {field: record[field] for field in fields if field in record}


def css_property(name, node):
    """One record per property; what lies below it is listed by name and status only, to keep the file small."""
    key = f"css.properties.{name}"
    features = [
        {"key": f"{key}.{part}", "name": part, **pick(child["__compat"], ("mdn_url", "status"))}
        for part, child in node.items()
        if part != "__compat" and "__compat" in child
    ]
    return {"key": key, "name": name, **pick(node["__compat"], COMPAT_FIELDS), "features": features}


def browser(identifier, record):
    releases = [{"version": version, **pick(release, RELEASE_FIELDS)} for version, release in record["releases"].items()]
    return {"id": identifier, **pick(record, ("name", "type")), "releases": releases}


def write(path, meta, items):
    document = {"meta": meta, "total": len(items), "items": items}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"{path.name}: {len(items)} items, {path.stat().st_size} bytes")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = json.loads((Path(sys.argv[1]) / "data.json").read_text(encoding="utf-8"))
    here = Path(__file__).resolve().parent
    meta = {"source": SOURCE, **data["__meta"], "license": LICENCE}
    properties = [css_property(name, node) for name, node in data["css"]["properties"].items()]
    write(here / "css-compat.json", {**meta, "section": "css.properties"}, properties)
    browsers = [browser(identifier, record) for identifier, record in data["browsers"].items()]
    write(here / "browsers.json", {**meta, "section": "browsers"}, browsers)


if __name__ == "__main__":
    main()
