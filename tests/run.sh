#!/usr/bin/env bash
# Sets up and runs every check: lint and import contracts once, types on each Python named in PYTHONS, the quick tests
# on all of them but the last, and all tests on the last.
# Usage: bash tests/run.sh [--quick] [--system] [arguments of pytest]
# --quick: on the last Python only, and its quick tests only.
# --system, or CI=true in the environment: install what some tests need of the system (apt-get, as root).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHONS=${PYTHONS:-3.11 3.12}   # Zarr 3.1 is the last line for 3.11; 3.12 gets the newest.

if command -v pyenv >/dev/null; then
    PYENV_VERSION=$(pyenv versions --bare | grep -E '^3\.[0-9]+\.[0-9]+$' | sort -rV | paste -sd:)
    export PYENV_VERSION
fi

system=${CI:-} quick=""
while true; do
    case ${1:-} in
        --system) system=true ;;
        --quick) quick=true ;;
        *) break ;;
    esac
    shift
done

missing() { for program in slurmctld munged openssl ip; do command -v "$program" >/dev/null || echo "$program"; done; }

# Jobs run on a real SLURM and on several hosts where these can be had; pytest lists all that is skipped, with reasons.
if [ "$system" = true ] && [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "== Installing SLURM and iproute2"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        slurm-wlm munge openssl iproute2; } >/dev/null 2>&1 || echo "== apt-get could not install them"
fi
if [ "$system" = true ] && command -v npm >/dev/null && ! command -v azurite-blob >/dev/null; then
    npm install --global azurite >/dev/null 2>&1 || echo "== npm could not install Azurite"
fi
if [ -n "$(missing)" ]; then
    echo "== Skipped: tests on SLURM or on several hosts, for want of" $(missing)
    echo "   bash tests/run.sh --system installs these, as root with apt-get"
fi

found="" last=""
for version in $PYTHONS; do
    if "python$version" --version >/dev/null 2>&1; then
        found="$found $version" last=$version
    else
        echo "== Python $version is not installed: skipped"
    fi
done
[ -n "$found" ] || { echo "None of the Pythons $PYTHONS was found; name yours with PYTHONS=3.13 bash tests/run.sh"; exit 1; }
[ -z "$quick" ] || found=$last

checked=""
for version in $found; do
    env=".venv-$version"
    echo "== Python $version in $env"
    [ -x "$env/bin/python" ] || "python$version" -m venv "$env"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[test]"
    if [ -z "$checked" ]; then
        "$env/bin/ruff" format --check .
        "$env/bin/ruff" check .
        "$env/bin/lint-imports" --no-logo
        checked=yes
    fi
    "$env/bin/mypy" --cache-dir "$env/mypy"  # on each: NumPy's types are others on other Pythons
    if [ -n "$quick" ] || [ "$version" != "$last" ]; then part="not slow and not nightly"; else part="not nightly"; fi
    # A process more than two processors have, as many tests wait. Files in the order of tests/conftest.py: by their
    # numbers of tests the longest few would come last, one after the other.
    "$env/bin/python" -m pytest --numprocesses=3 --dist=loadfile --no-loadscope-reorder -m "$part" "$@"
done
