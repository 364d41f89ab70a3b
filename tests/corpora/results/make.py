#!/usr/bin/env python3
"""Makes the files of this folder from unpacked packages: make.py NPM_FOLDER BOTOCORE_FOLDER REPOSITORY

SOURCE.md says which packages. The same packages give the same bytes.
"""

import csv
import io
import json
import pathlib
import sys

npm, botocore, repository = map(pathlib.Path, sys.argv[1:])
here = pathlib.Path(__file__).parent


def package(name):
    (found,) = [folder for folder in npm.iterdir() if folder.name.startswith(name) and folder.is_dir()]
    return found


def read(path):
    return json.loads(path.read_text())


def write(name, value):
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
    (here / name).write_text(value)


def responses(scenario):
    exchanges = read(package("octokit-fixtures") / "scenarios/api.github.com" / scenario / "normalized-fixture.json")
    return [exchange["response"] for exchange in exchanges]


def example(service, version, operation):
    examples = read(botocore / "botocore/data" / service / version / "examples-1.json")["examples"]
    return examples[operation][0]["output"]


write("issues.json", [issue for page in responses("paginate-issues") for issue in page][:6])
write("search.json", responses("search-issues")[0])
write("repository.json", responses("get-repository")[0])
write("statuses.json", responses("create-status")[3])
write("faces.json", example("rekognition", "2016-06-27", "ListFaces"))
write("offerings.json", example("elasticache", "2015-02-02", "DescribeReservedCacheNodesOfferings"))

countries = read(package("countries-list") / "countries.min.json")
write("countries.json", dict(list(countries.items())[::6]))

types = read(package("mime-db") / "db.json")
kept = {name: entry for name, entry in types.items() if "extensions" in entry and "source" in entry}
write("types.json", dict(list(kept.items())[::16]))

releases = read(package("node-releases") / "data/processed/envs.json")[-60:]
write("releases.json", releases)
table = io.StringIO()
rows = csv.writer(table, lineterminator="\n")
columns = ["version", "date", "lts", "security", "v8"]
rows.writerow(columns)
rows.writerows([[release[column] for column in columns] for release in releases[:30]])
write("releases.csv", table.getvalue())
write("table.json", {"columns": columns, "rows": [[release[column] for column in columns] for release in releases[:30]]})

atlas = read(package("world-atlas") / "countries-110m.json")
atlas["objects"] = {"countries": atlas["objects"]["countries"]}
atlas["objects"]["countries"]["geometries"] = atlas["objects"]["countries"]["geometries"][:30]
atlas["arcs"] = atlas["arcs"][:20]
write("atlas.json", atlas)

browsers = read(repository / "crates/crossfeed-cli/data/browsers.json")
for item in browsers["items"]:
    item["releases"] = item["releases"][:4]
write("browsers.json", browsers)
