#!/usr/bin/env python3
"""Makes the held-out files of this folder from unpacked packages: make_others.py FOLDER

FOLDER holds them as NAME-VERSION. SOURCE.md says which; the same packages give the same bytes.
"""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent


def text(package, path):
    (found,) = [root for root in folder.iterdir() if root.name.rsplit("-", 1)[0] == package]
    return (found / path).read_text()


def read(package, path):
    return json.loads(text(package, path))


def write(name, value):
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
    (here / name).write_text(value)


def every(mapping, step):
    return dict(list(mapping.items())[::step])


write("css.json", every(read("mdn-data", "css/properties.json"), 16))
write("licences.json", every(read("spdx-license-list", "spdx.json"), 14))
write("manifest.json", read("eslint", "package.json"))
examples = read("botocore", "botocore/data/codebuild/2016-10-06/examples-1.json")["examples"]
write("builds.json", examples["BatchGetBuilds"][0]["output"])
write("openapi.json", read("openapiv3", "fixtures/swagger_generator.json"))

emoji = read("emojibase-data", "en/data.json")
write("emoji.json", {"result": [entry for entry in emoji if "tags" in entry][::45]})

quakes = read("vega-datasets", "data/earthquakes.json")
felt = [feature for feature in quakes["features"] if feature["properties"]["felt"] is not None]
quakes["features"] = quakes["features"][::150] + felt[::12]
write("quakes.json", quakes)

territories = read("cldr-core", "supplemental/territoryInfo.json")
territories["supplemental"]["territoryInfo"] = every(territories["supplemental"]["territoryInfo"], 12)
write("territories.json", territories)

answer = read("graphql_client", "tests/countries_schema.json")
write("introspection.json", answer)

feed = read("feed-rs", "fixture/jsonfeed/jsonfeed_elastic_1.1.serde.json")
write("feed.json", feed)

write("weather.csv", "".join(text("vega-datasets", "data/seattle-weather.csv").splitlines(keepends=True)[:90]))
write("patch.diff", text("unidiff", "tests/samples/sample0.diff"))

lines = text("eslint-plugin-unicorn", "readme.md").splitlines()
table = [line for line in lines if line.startswith("| ")]
rows = ["| " + " | ".join(cell.strip() for cell in line.split("|")[1:3]) + " |" for line in table]
write("rules.md", "\n".join(["# Rules", rows[0], "| :- | :- |", *rows[2::5]]) + "\n")
