"""Alerts of the component metrics, evaluated by promtool on series as kube-state-metrics and the jobs give them."""

import re
import subprocess
from shutil import which

import pytest
import yaml

from tests.manifests import DEPLOY

HOUR = 3600

HOURS = 120
"""How long the series are: five nights, each of which begins at one."""

CRONJOB = '{cronjob="mdh-nightly", namespace="mdh-dask"}'

pytestmark = pytest.mark.skipif(which("promtool") is None, reason="promtool is missing: it evaluates the alerts")


def samples(values):
    """Return a value for every hour from those that begin at some hours; None is no sample."""
    found, value = [], None
    for hour in range(HOURS + 1):
        value = values.get(hour, value)
        found.append("_" if value is None else str(value))
    return " ".join(found)


def of_cronjob(created=0, succeeded=(), active=()):
    """Return the series of a CronJob by the hours at which its jobs ended well, and from when to when some ran."""
    running = {0: 0} | {begin: 1 for begin, _ in active} | {end: 0 for _, end in active}
    return {
        f"kube_cronjob_created{CRONJOB}": {created: created * HOUR},
        f"kube_cronjob_status_last_successful_time{CRONJOB}": {hour: hour * HOUR for hour in succeeded},
        f"kube_cronjob_status_active{CRONJOB}": running,
        f"kube_cronjob_status_last_schedule_time{CRONJOB}": {begin: begin * HOUR for begin, _ in active},
    }


def of_failed_job(name, created, failed):
    """Return the series of a job that failed, which stays in the history."""
    labels = f'job_name="{name}", namespace="mdh-dask"'
    return {
        f"kube_job_created{{{labels}}}": {created: created * HOUR},
        f'kube_job_failed{{condition="true", {labels}}}': {failed: 1},
        f'kube_job_failed{{condition="false", {labels}}}': {failed: 0},
    }


@pytest.fixture
def assert_up(tmp_path):
    """Assert that an alert is up at some hours and at no others, with these labels and texts."""
    rule = yaml.safe_load((DEPLOY / "kubernetes/components/metrics/alerts.yaml").read_text())
    (tmp_path / "rules.yaml").write_text(yaml.dump(rule["spec"]))
    rules = {one["alert"]: one for group in rule["spec"]["groups"] for one in group["rules"]}

    def expected(alert, labels, value):
        told = {
            name: re.sub(r"{{ \$labels.(\w+) }}", lambda found: labels[found[1]], text).replace("{{ $value }}", value)
            for name, text in rules[alert]["annotations"].items()
        }
        return {"exp_labels": labels | rules[alert]["labels"], "exp_annotations": told}

    def check(alert, series, up, labels, value=""):
        times = [
            {"eval_time": f"{hour}h", "alertname": alert,
             "exp_alerts": [expected(alert, labels, value)] if hour in up else []}
            for hour in range(HOURS + 1)
        ]  # fmt: skip
        there = [{"series": name, "values": samples(values)} for name, values in series.items()]
        test = {"interval": "1h", "input_series": there, "alert_rule_test": times}
        tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1h", "tests": [test]}
        (tmp_path / "tests.yaml").write_text(yaml.dump(tests))
        command = ["promtool", "test", "rules", "tests.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[:3000]

    return check


OF_JOB = {"job_name": "mdh-nightly-2", "namespace": "mdh-dask", "condition": "true"}

OF_CRONJOB = {"cronjob": "mdh-nightly", "namespace": "mdh-dask"}


def test_a_failed_night_is_told_until_one_ends_well(assert_up):
    series = of_failed_job("mdh-nightly-2", created=25, failed=27)
    assert_up("MdhDaskNightFailed", series | of_cronjob(succeeded=[2, 50, 74, 98]), range(27, 50), OF_JOB)


def test_jobs_of_others_that_fail_are_not_told(assert_up):
    series = of_failed_job("mdh-drift-2", created=1, failed=2) | of_failed_job("other", created=1, failed=2)
    assert_up("MdhDaskNightFailed", series | of_cronjob(), (), OF_JOB)


def test_nights_are_missed_26_hours_after_the_last_that_ended_well(assert_up):
    nights = of_cronjob(succeeded=[2, 26, 98], active=[(1, 2), (25, 26), (97, 98)])
    assert_up("MdhDaskNightMissed", nights, range(26 + 27, 97), OF_CRONJOB)


def test_scenes_that_cannot_be_used_are_counted_in_a_warning_until_there_are_none(assert_up):
    labels = {"job_file": "night.toml", "namespace": "mdh-dask"}
    series = {'mdh_dask_job_scenes_damaged{job_file="night.toml", namespace="mdh-dask"}': {1: 0, 26: 3, 50: 0}}
    assert_up("MdhDaskScenesDamaged", series, range(26, 50), labels, "3")


NIGHT = 'job_file="night.toml", job_name="night", namespace="mdh-dask"'

OF_NIGHT = {"job_file": "night.toml", "job_name": "night", "namespace": "mdh-dask"}


def test_clusters_that_come_and_go_are_told_until_a_night_without_changes(assert_up):
    series = {
        f"mdh_dask_job_clusters_{kind}{{{NIGHT}}}": {1: 0} | later
        for kind, later in {"born": {26: 1, 50: 0}, "split": {}, "merged": {}, "died": {74: 2, 98: 0}}.items()
    }
    assert_up("MdhDaskClustersBorn", series, range(26, 50), OF_NIGHT, "1")
    assert_up("MdhDaskClustersDied", series, range(74, 98), OF_NIGHT, "2")


def test_a_job_is_late_26_hours_after_it_ended_well_and_has_failed_if_its_exit_code_says_so(assert_up):
    ends = {f"mdh_dask_job_last_success_timestamp_seconds{{{NIGHT}}}": {h: h * HOUR for h in (2, 26, 74)}}
    assert_up("MdhDaskJobLate", ends, [*range(26 + 27, 74), *range(74 + 27, HOURS + 1)], OF_NIGHT)
    codes = {f"mdh_dask_job_exit_code{{{NIGHT}}}": {2: 0, 26: 75, 50: 0}}
    assert_up("MdhDaskJobFailed", codes, range(26, 50), OF_NIGHT, "75")
