"""An S3 server in a process of its own."""

import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.request import urlopen

import pytest
import s3fs

from tests.pods import free_ports

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


SERVER = """
import logging
import os
import sys
import threading
from werkzeug.serving import WSGIRequestHandler
from moto.server import main

WSGIRequestHandler.protocol_version = "HTTP/1.1"
logging.getLogger("werkzeug").setLevel("ERROR")
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
main()
"""
"""It keeps connections and no log, and ends with the process that holds its input."""


@contextmanager
def s3_server():
    """Run a server on a free port; yield its address."""
    (port,) = free_ports(1)
    command = [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", port]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/moto-api/", process)
        yield address
    finally:
        process.kill()
        process.wait()


@contextmanager
def s3_in_environment():
    """Run a server and name it, with credentials, in the environment; yield its address."""
    with s3_server() as address, pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": address}).items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield address
        s3fs.S3FileSystem.clear_instance_cache()


def wait_for(url, process, seconds=300):
    for _ in range(10 * seconds):
        try:
            urlopen(url).close()
        except OSError:
            assert process.poll() is None, "the server ended"
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)
