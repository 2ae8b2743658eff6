"""Runs the examples of docs/howto/commands-and-ci.md on exported results: data-tools.py PROGRAM

DuckDB and pandas must compute the means that `assay show --json` prints, to 9 digits, and the OpenMetrics must parse.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from prometheus_client.openmetrics.parser import text_string_to_metric_families

PROGRAM = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parent.parent
FACTOR = "factor_queue_depth"
PAGE = (ROOT / "docs/howto/commands-and-ci.md").read_text()
SQL, PYTHON = (re.search(rf"```{name}\n(.*?)```", PAGE, re.S)[1] for name in ("sql", "python"))
assert FACTOR in SQL and FACTOR in PYTHON


def assay(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def results():
    """Stored results, and tables that are imported with the options of their first line."""
    for folder in sorted((ROOT / "crates/assay/tests/fixtures/bundles").iterdir()):
        if folder.is_dir():
            yield folder.name, str(folder)
    for table in sorted((ROOT / "crates/assay/tests/csv/valid").glob("*.csv")):
        options = re.match(r"(?:# options: (.*))?", table.read_text())[1] or ""
        found = json.loads(assay("import", table, "--json", *options.split()))
        yield table.name, found["study"]["id"]


def printed(result):
    for cell in json.loads(assay("show", result, "--json"))["measurements"]:
        means = [cell.get(name) for name in ("mean", "geometric_mean", "median")]
        mean = next((mean for mean in means if mean is not None), None)
        if mean is not None and not cell["control"]:
            yield cell["workload"], cell["metric"], mean


def rounded(rows):
    return sorted((workload, metric.split(":")[0], f"{mean:.9g}") for workload, metric, mean in rows)


def check(name, result):
    assay("export", result, "--format", "trials-csv", "-o", "trials.csv")
    header = Path("trials.csv").read_text().splitlines()[0].split(",")
    factors = header[header.index("mean_kind") + 1 :]
    expected = rounded(printed(result))
    # Each result has other factors than the examples.
    factors = "".join(f'"{factor}", ' for factor in factors)
    rows = duckdb.sql(SQL.replace(f"{FACTOR}, ", factors)).fetchall()
    assert rounded((row[0], *row[-2:]) for row in rows) == expected, f"{name}: DuckDB"
    scope = {}
    exec(PYTHON.replace(f'"{FACTOR}", ', factors), scope)
    rows = ((key[0], key[-2], mean) for key, mean in scope["means"].items())
    assert rounded(rows) == expected, f"{name}: pandas"
    families = list(text_string_to_metric_families(assay("export", result, "--format", "openmetrics")))
    assert all(family.documentation for family in families), f"{name}: OpenMetrics"
    return len(expected), len(families)


with tempfile.TemporaryDirectory() as home:
    os.environ |= {"HOME": home, "ASSAY_HOME": home}
    os.chdir(home)
    counts = [check(*one) for one in results()]
print("{} results, {} means, {} OpenMetrics families".format(len(counts), *map(sum, zip(*counts))))
