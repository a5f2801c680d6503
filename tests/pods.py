"""The containers of pods as processes: with their commands and environments, on folders and ports of this machine."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from shutil import which
from urllib.error import HTTPError
from urllib.request import urlopen

BIN = Path(sys.executable).parent

UNITS = {"": 1, "m": 0.001, "Mi": 2**20, "Gi": 2**30}

READ_ONLY = """
while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done
shift
mount -o remount,bind,ro /
exec "$@"
"""
"""Runs a command that can write to some folders only."""


def amount(quantity):
    """Return the number that Kubernetes means by a quantity."""
    number, unit = re.fullmatch(r"([\d.]+)(\w*)", quantity).groups()
    return float(number) * UNITS[unit]


def free_ports(number):
    """Return ports that are free, and below those that the system gives to whoever asks for any."""
    found = []
    for port in random.SystemRandom().sample(range(20_000, 32_768), 1000):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            found.append(str(port))
        if len(found) == number:
            return found
    raise OSError("expected free ports; found none")


class Machine:
    """Runs containers as processes.

    Paths of the pods are folders in one of this machine, their ports are free ones, and the names of services are
    addresses. Where it may be done, all but the folders ``/tmp`` and ``/data`` of a pod is read-only. Compiled loops
    are kept in a folder for all pods, if one is given: compiling them takes most of the time.
    """

    def __init__(self, folder, config_maps=(), secrets=(), compiled=None):
        self.folder = Path(folder)
        self.compiled = compiled
        self.maps = {resource["metadata"]["name"]: resource["data"] for resource in config_maps}
        self.secrets = dict(secrets)
        self.ports = dict(zip(("8786", "8787", "8788", "8789"), free_ports(4), strict=True))
        self.processes, self.logs = [], []
        (self.folder / "work").mkdir(parents=True)

    def run(self, name, pod, of="containers"):
        """Start the first container of a pod."""
        container = pod[of][0]
        home = self.folder / name
        self._mount(home, pod, container)
        env = self._environment(container)
        words = [self._expanded(word, env) for word in [*container["command"], *container["args"]]]
        local = {variable: self._local(value, home) for variable, value in env.items()}
        command = [str(BIN / words[0]), *(self._local(word, home) for word in words[1:])]
        local |= {"PATH": os.defpath, "DASK_ROOT_CONFIG": str(home / "etc/dask")}
        log = self.folder / f"{name}.log"
        self.logs.append(log)
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                [*self._jail(home, container), *command], env=local, cwd=home / "tmp", stdout=stream, stderr=stream,
                start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def probe(self, pod, kind, seconds=300):
        """Wait until a probe of the first container of a pod succeeds."""
        container = pod["containers"][0]
        asked = container[kind]["httpGet"]
        (port,) = [port["containerPort"] for port in container["ports"] if port["name"] == asked["port"]]
        url = f"http://127.0.0.1:{self.ports[str(port)]}{asked['path']}"
        until = time.monotonic() + seconds
        while True:
            with suppress(OSError):
                return urlopen(url, timeout=30).read()
            assert time.monotonic() < until, f"{url} does not answer: {self.told()}"
            time.sleep(0.1)

    def get(self, port, path, sent=None):
        """Return the status and the content of a page, to which something may be sent (POST)."""
        try:
            with urlopen(f"http://127.0.0.1:{self.ports[port]}{path}", data=sent, timeout=60) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            return error.code, error.read()

    def told(self):
        """Return all that the processes wrote."""
        return "\n".join(f"== {log.name}\n{log.read_text()}" for log in self.logs)

    def stop(self):
        """End all processes."""
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _jail(self, home, container):
        if os.geteuid() != 0 or which("unshare") is None:
            return []
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        work = [self.folder / "work"] if "/data" in mounted else []
        writable = map(str, [home / "tmp", *work, *filter(None, [self.compiled])])
        return ["unshare", "--mount", "sh", "-ec", READ_ONLY, "sh", *writable, "--"]

    def _mount(self, home, pod, container):
        """Make the folders that the pod's volumes are."""
        (home / "tmp").mkdir(parents=True)
        if self.compiled:
            (home / "tmp/.cache").mkdir()
            (home / "tmp/.cache/mdh_dask").symlink_to(self.compiled)
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            sources = volume.get("projected", {}).get("sources", [volume])
            for source in sources:
                found = self.maps.get(source.get("configMap", {}).get("name")) or self.secrets.get(
                    source.get("secret", {}).get("name")
                )
                for file, text in (found or {}).items():
                    path = home / mount["mountPath"].lstrip("/") / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(self._local_file(text, home))

    def _environment(self, container):
        env = {}
        for source in container.get("envFrom", ()):
            if "secretRef" in source:
                env |= self.secrets[source["secretRef"]["name"]]
            else:
                env |= self.maps[source["configMapRef"]["name"]]
        for variable in container["env"]:
            origin = variable.get("valueFrom", {})
            if "resourceFieldRef" in origin:
                part, resource = origin["resourceFieldRef"]["resource"].split(".")
                env[variable["name"]] = str(-int(-amount(container["resources"][part][resource]) // 1))
            else:
                env[variable["name"]] = variable["value"]
        return env

    @staticmethod
    def _expanded(word, env):
        return re.sub(r"\$\((\w+)\)", lambda found: env[found[1]], word)

    def _local(self, text, home):
        """Return a word with this machine's folders, ports and addresses."""
        text = re.sub(r"mdh-(\w+-)?scheduler(\.[\w.-]+)?(?=:)", "127.0.0.1", text)
        text = re.sub(r"(?<!\d)(878[6789])(?!\d)", lambda found: self.ports[found[1]], text)
        return self._local_file(text, home)

    def _local_file(self, text, home):
        folders = {"data": self.folder / "work", "tmp": home / "tmp", "etc": home / "etc"}
        return re.sub(r"(?<![\w/:.])/(data|tmp|etc)\b", lambda found: str(folders[found[1]]), text)
