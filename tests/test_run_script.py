"""The script that runs every check asks before it changes the machine."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.sh")
CHECKS = ("ruff", "lint-imports", "mypy")


@pytest.fixture
def run(tmp_path):
    """Run the script where apt-get only notes that it was called, and no Python is found; return output and calls."""
    tests, programs, calls = tmp_path / "tests", tmp_path / "bin", tmp_path / "calls"
    tests.mkdir()
    programs.mkdir()
    shutil.copy(SCRIPT, tests)
    for name in ("bash", "dirname"):
        (programs / name).symlink_to(shutil.which(name))
    for name, line in (("apt-get", f'echo "$@" >> {calls}'), ("id", "echo 0")):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{line}\n")
        (programs / name).chmod(0o755)

    def run(*args, **variables):
        env = {name: value for name, value in os.environ.items() if name != "CI"}
        env |= {"PATH": f"{programs}", "PYTHONS": "0.0"} | variables
        command = [str(programs / "bash"), str(tests / "run.sh"), *args]
        output = subprocess.run(command, env=env, capture_output=True, text=True).stdout
        return output, calls.read_text() if calls.exists() else ""

    return run


def test_nothing_is_installed_unasked_and_what_is_skipped_is_told(run):
    output, calls = run("-k", "density")
    assert calls == ""
    assert "Skipped: tests on SLURM or on several hosts, for want of slurmctld munged openssl ip\n" in output
    assert "bash tests/run.sh --system installs these" in output


@pytest.mark.parametrize(("args", "variables"), [(["--system", "-q"], {}), ([], {"CI": "true"})])
def test_system_packages_are_installed_where_asked_for(run, args, variables):
    output, calls = run(*args, **variables)
    assert calls.startswith("update\ninstall --yes --no-install-recommends slurm-wlm")
    assert "== Skipped: tests on SLURM" in output  # that apt-get installs nothing


@pytest.mark.parametrize(
    ("args", "runs"),
    [
        (["-k", "density"], ["0.1: -m not slow and not nightly -k density", "0.2: -m not nightly -k density"]),
        (["--system", "--quick"], ["0.2: -m not slow and not nightly"]),
    ],
)
def test_types_are_checked_on_every_python_and_all_tests_run_on_the_last(run, tmp_path, args, runs):
    log = tmp_path / "log"
    for version in ("0.1", "0.2"):
        programs = tmp_path / f".venv-{version}/bin"
        programs.mkdir(parents=True)
        for path in (tmp_path / f"bin/python{version}", *(programs / name for name in ("python", *CHECKS))):
            path.write_text(f'#!/usr/bin/env bash\necho "{version} {path.name} $*" >> {log}\n')
            path.chmod(0o755)
    run(*args, PYTHONS="0.1 0.2")
    lines = log.read_text().splitlines()
    tests = [re.sub(r" python .*--no-loadscope-reorder", ":", line) for line in lines if "pytest" in line]
    assert tests == runs
    versions = [line[:3] for line in runs]
    assert [line[:3] for line in lines if " mypy" in line] == versions
    assert [line[:3] for line in lines if "ruff check" in line] == versions[:1]
