"""The page on schedulers: its examples branch on exit codes as the CronJob of Kubernetes does."""

import os
import re
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import jsonschema
import pytest
import yaml

from mdh_dask.cli import exits
from tests.manifests import DEPLOY

PAGE = (DEPLOY / "schedulers.md").read_text(encoding="utf-8")

(ARGO,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
AIRFLOW, PREFECT = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

FINAL = {exits.USAGE, exits.BAD_DATA, exits.NO_INPUT, exits.MISSING_PACKAGE, exits.NO_MEMORY, exits.CANNOT_CREATE,
         exits.NOT_PERMITTED, exits.BAD_JOB}  # fmt: skip


def closed(required=(), **properties):
    """Return the schema of an object that has these keys only."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT, TEXTS, NUMBER = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "integer"}

STEP = closed(["name", "template"], name=TEXT, template=TEXT, when=TEXT)

MOUNT = closed(["name", "mountPath"], name=TEXT, mountPath=TEXT)

CONTAINER = closed(["image"], image=TEXT, command=TEXTS, args=TEXTS,
                   volumeMounts={"type": "array", "items": MOUNT})  # fmt: skip

RETRY = closed(
    limit=TEXT, retryPolicy={"enum": ["Always", "OnFailure", "OnError", "OnTransientError"]}, expression=TEXT,
    backoff=closed(duration=TEXT, factor=TEXT, maxDuration=TEXT),
)  # fmt: skip

PARAMETER = closed(["name", "valueFrom"], name=TEXT, valueFrom=closed(["path"], path=TEXT))

TEMPLATE = closed(["name"], name=TEXT, container=CONTAINER, retryStrategy=RETRY,
                  outputs=closed(parameters={"type": "array", "items": PARAMETER}),
                  steps={"type": "array", "items": {"type": "array", "items": STEP}})  # fmt: skip

VOLUME = closed(["name"], name=TEXT, persistentVolumeClaim=closed(["claimName"], claimName=TEXT))

CRON_WORKFLOW = closed(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "argoproj.io/v1alpha1"},
    kind={"const": "CronWorkflow"}, metadata=closed(["name"], name=TEXT),
    spec=closed(
        ["schedules", "workflowSpec"], schedules=TEXTS, timezone=TEXT, startingDeadlineSeconds=NUMBER,
        concurrencyPolicy={"enum": ["Allow", "Replace", "Forbid"]},
        workflowSpec=closed(
            ["entrypoint", "templates"], entrypoint=TEXT, activeDeadlineSeconds=NUMBER,
            volumes={"type": "array", "items": VOLUME}, templates={"type": "array", "items": TEMPLATE},
        ),
    ),
)  # fmt: skip
"""The keys of the schema of Argo Workflows 3.6 that the page uses; the whole has 20,000 lines."""


def test_the_page_and_its_examples_repeat_no_command_that_would_fail_again():
    nightly = yaml.safe_load((DEPLOY / "kubernetes/base/nightly.yaml").read_text())
    policy = nightly["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][1]
    assert {*policy["onExitCodes"]["values"]} == FINAL
    lists = re.findall(r"2(?:, \d+)+", PAGE)
    assert len(lists) == 4
    assert all({*map(int, one.split(", "))} == FINAL for one in lists)


def test_the_workflow_of_argo_has_keys_that_there_are_and_steps_with_templates():
    workflow = yaml.safe_load(ARGO)
    jsonschema.validate(workflow, CRON_WORKFLOW)
    spec = workflow["spec"]["workflowSpec"]
    templates = {one["name"]: one for one in spec["templates"]}
    steps = [step for group in templates[spec["entrypoint"]]["steps"] for step in group]
    assert {step["template"] for step in steps} == templates.keys() - {spec["entrypoint"]}
    assert {name for step in steps for name in re.findall(r"steps\.(\w+)", step.get("when", ""))} == {"compare"}
    assert steps[-1]["when"].endswith(f"== {exits.DRIFT}")
    mounts = {mount["name"] for one in templates.values() for mount in one.get("container", {}).get("volumeMounts", [])}
    assert mounts == {volume["name"] for volume in spec["volumes"]}


@pytest.mark.parametrize("code", [0, exits.DRIFT, exits.NO_INPUT, exits.TRY_AGAIN])
def test_the_comparison_of_argo_fails_unless_it_compared_and_tells_its_code(code, tmp_path):
    (program := tmp_path / "mdh-dask").write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    (template,) = (one for one in yaml.safe_load(ARGO)["spec"]["workflowSpec"]["templates"] if one["name"] == "compare")
    (line,) = template["container"]["args"]
    told = tmp_path / "code"
    command = [*template["container"]["command"], line.replace("/tmp/code", str(told))]
    found = subprocess.run(command, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found.returncode == (0 if code == exits.DRIFT else code)
    assert told.read_text() == f"{code}\n"


@pytest.fixture
def ended(monkeypatch):
    """Return what lets commands end with exit codes in turn, and records them."""
    made = []

    def ending(*codes):
        left = iter(codes)

        def run(command):
            made.append(command)
            return SimpleNamespace(returncode=next(left))

        monkeypatch.setattr("subprocess.run", run)
        return made

    return ending


class Task:
    """A task of a scheduler: what it calls, and its options."""

    def __init__(self, call, **options):
        self.call, self.options = call, options

    def __call__(self, *args):
        return self.call(*args)


def decorator(*given, **options):
    """Take the place of a decorator with or without options."""
    return Task(*given) if given else lambda call: Task(call, **options)


def executed(text, monkeypatch, **modules):
    """Return the names of an example after it ran, with such modules in place of the scheduler's."""
    for name, members in modules.items():
        module = ModuleType(name.replace("_", "."))
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = {"__name__": "night"}
    exec(compile(text, "schedulers.md", "exec"), found)
    return found


@pytest.mark.parametrize("code", [0, 3, 1, 74, 75, 130, 143, *sorted(FINAL)])
def test_airflow_repeats_what_may_succeed_later_only(code, ended, monkeypatch):
    class Failed(Exception):
        pass

    class FailedForGood(Exception):
        pass

    def short_circuit(**options):
        return lambda call: lambda: Chained(Task(call, **options))

    class Chained:
        def __init__(self, task):
            self.task = task

        def __rshift__(self, other):
            chained.append((self.task, other))

    chained = []

    def task(**options):
        return lambda call: lambda: Task(call, **options)

    task.short_circuit = short_circuit
    errors = {"AirflowException": Failed, "AirflowFailException": FailedForGood}
    sdk = {"dag": lambda **options: lambda call: call, "task": task}
    executed(AIRFLOW, monkeypatch, airflow={}, airflow_exceptions=errors, airflow_sdk=sdk)
    ((compare, fit),) = chained
    assert compare.options["retries"] == fit.options["retries"] == 6
    made = ended(code, code)
    wanted = FailedForGood if code in FINAL else None if code in (0, exits.DRIFT) else Failed
    for step in (compare, fit):
        if wanted is None:
            assert step() in (code == exits.DRIFT, None)
        else:
            with pytest.raises(wanted):
                step()
    assert [command[:2] for command in made] == [["mdh-dask", "drift"], ["mdh-dask", "run"]]


@pytest.mark.parametrize("code", [1, 74, 75, 130, 143, *sorted(FINAL)])
def test_prefect_repeats_what_may_succeed_later_only(code, ended, monkeypatch):
    found = executed(PREFECT, monkeypatch, prefect={"flow": decorator, "task": decorator})
    ended(code)
    with pytest.raises(Exception, match=f"exit code {code}") as caught:
        found["run"]("run", "job.toml")

    def result():
        raise caught.value

    again = found["run"].options["retry_condition_fn"](None, None, SimpleNamespace(result=result))
    assert again == (code not in FINAL)


@pytest.mark.parametrize("drift", [False, True])
def test_prefect_fits_another_model_only_after_drift(drift, ended, monkeypatch):
    found = executed(PREFECT, monkeypatch, prefect={"flow": decorator, "task": decorator})
    made = ended(exits.DRIFT if drift else 0, 0)
    found["mdh_nightly"]()
    assert [command[1] for command in made] == ["drift", "run"][: 1 + drift]
