"""Alerts and the dashboard name metrics that jobs write, and the page on jobs says how to get their rules anywhere."""

import json
import re
import subprocess
import sys

import pytest
import yaml

from mdh_dask.jobs.notify import ABOUT, PREFIX
from mdh_dask.workflows._models import GAUGES
from tests.manifests import DEPLOY

METRICS = DEPLOY / "kubernetes/components/metrics"

WRITTEN = {f"{PREFIX}{name}" for name in ABOUT} | {f"mdh_dask_drift_{name}" for name in GAUGES}

LABELS = {"job_file", "job_name", "features", "model"}
"""Labels that jobs and comparisons give their metrics."""


@pytest.fixture(scope="module")
def group():
    groups = yaml.safe_load((METRICS / "alerts.yaml").read_text())["spec"]["groups"]
    return next(group for group in groups if group["name"] == "mdh-dask-jobs")


@pytest.fixture(scope="module")
def dashboard():
    return json.loads((METRICS / "dashboard.json").read_text())


def queries(dashboard):
    variables = [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    return variables + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_every_metric_of_alerts_and_of_the_dashboard_is_written_by_jobs(group, dashboard):
    told = [rule["expr"] for rule in group["rules"]] + queries(dashboard)
    found = [re.findall(r"mdh_dask_\w+", expr) for expr in told]
    assert all(found)
    assert {name for names in found for name in names} <= WRITTEN


def test_events_of_histories_and_late_or_failed_jobs_have_alerts(group):
    watched = " ".join(rule["expr"] for rule in group["rules"])
    events = {f"clusters_{kind}" for kind in ("born", "split", "merged", "died")}
    for name in (*events, "scenes_drifted", "scenes_damaged", "exit_code", "last_success_timestamp_seconds"):
        assert re.search(rf"{PREFIX}{name}\b", watched)


def test_every_alert_has_a_severity_and_texts_with_labels_that_there_are(group):
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        for text in rule["annotations"].values():
            assert {*re.findall(r"\$labels\.(\w+)", text)} <= LABELS


def test_the_line_of_the_page_writes_the_rules_for_a_prometheus_without_the_operator(group):
    (code,) = re.findall(r'`python -c "(.*?)" > rules.yaml`', (DEPLOY / "jobs.md").read_text())
    done = subprocess.run([sys.executable, "-c", code], cwd=METRICS, capture_output=True, text=True, check=True)
    rules = yaml.safe_load(done.stdout)
    assert list(rules) == ["groups"]
    assert rules["groups"][-1] == group
