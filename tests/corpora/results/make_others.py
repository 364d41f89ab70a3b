#!/usr/bin/env python3
"""Makes the further files of this folder, and the held-out ones, from unpacked packages: make_others.py FOLDER

FOLDER holds them as NAME-VERSION. SOURCE.md says which; the same packages give the same bytes.
"""

import csv
import io
import json
import pathlib
import sqlite3
import sys

folder = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent


def found(package, path):
    (root,) = [root for root in folder.iterdir() if root.name.rsplit("-", 1)[0] == package]
    return root / path


def text(package, path):
    return found(package, path).read_text()


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

# The held-out ones.

database = sqlite3.connect(f"file:{found('mendeleev', 'mendeleev/elements.db')}?mode=ro", uri=True)
columns = ["atomic_number", "symbol", "name", "atomic_weight", "block", "period", "density", "en_pauling", "is_radioactive", "discovery_year"]
rows = database.execute(f"SELECT {', '.join(columns)} FROM elements ORDER BY atomic_number").fetchall()
elements = [dict(zip(columns, row)) for row in rows[::4]]
for element in elements:
    element["is_radioactive"] = bool(element["is_radioactive"])
write("elements.json", {"result": elements})

write("timezones.json", read("vvo-tzdb", "raw-time-zones.json")[::14])

zones = read("moment-timezone", "data/meta/latest.json")
write("zones.json", {"version": zones["version"], "countries": every(zones["countries"], 8), "zones": every(zones["zones"], 12)})

currencies = read("cldr-numbers-modern", "main/en/currencies.json")
numbers = currencies["main"]["en"]["numbers"]
numbers["currencies"] = every(numbers["currencies"], 10)
write("currencies.json", currencies)

report = read("pytest-json-report", "sample_report.json")
for test in report["tests"]:
    for stage in [test[name] for name in ["setup", "call", "teardown"] if name in test]:
        stage.pop("longrepr", None)
        stage.pop("log", None)
report["collectors"] = report["collectors"][:2]
write("report.json", report)

write("bom.json", read("cyclonedx_python_lib", "tests/_data/snapshots/get_bom_with_licenses-1.6.json.bin"))

examples = read("botocore", "botocore/data/dynamodbstreams/2012-08-10/examples-1.json")["examples"]
write("records.json", examples["GetRecords"][0]["output"])

write("penguins.json", read("vega-datasets", "data/penguins.json")[::9])

table = io.StringIO()
rows = list(csv.reader(text("vega-datasets", "data/airports.csv").splitlines()))
quoted = [row for row in rows[1:] if any("," in cell for cell in row)]
csv.writer(table, lineterminator="\n").writerows([rows[0], *rows[1::60][:40], *quoted])
write("airports.csv", table.getvalue())

write("calendar.ics", text("icalendar", "src/icalendar/tests/calendars/alarm_etar_future.ics"))
write("workflow.yml", text("serde_json", ".github/workflows/ci.yml"))
write("changelog.md", "".join(text("itertools", "CHANGELOG.md").splitlines(keepends=True)[:110]))
