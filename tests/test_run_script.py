"""The script that runs every check asks before it changes the machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.sh")


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
