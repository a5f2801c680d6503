"""A server that answers as Kubernetes with the Dask operator does, and notes what it is asked for."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

NAMESPACE = "team"

PATH = re.compile(
    r"/apis?(?:/(?P<group>[a-z.]+))?/v1/namespaces/(?P<namespace>[^/]+)/(?P<kind>[a-z]+)(?:/(?P<name>.+))?"
)


DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": f"{name}s", "singularName": name, "namespaced": True, "kind": name.title(), "verbs": ["get"]}
            for name in ("pod", "event")
        ],
    },
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
}


class Kubernetes:
    """What there is, as ``kind -> name -> resource``, and which verbs were used on what.

    The operator leaves the phase of its clusters at `phase`, and does nothing about the first `ignored` of them; `pod`
    is the status of the scheduler's pods. With `full`, a quota forbids them.
    """

    def __init__(self, start):
        self.start = start
        self.resources = {"daskclusters": {}, "daskautoscalers": {}, "daskworkergroups": {}, "pods": {}, "services": {}}
        self.resources["events"] = {}
        self.made = []
        self.deleted = []
        self.asked = set()
        self.refusal = None
        self.workers = True
        self.phase = "Running"
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
        self.pod = {"phase": "Running", "conditions": ready, "containerStatuses": []}
        self.ignored = 0
        self.full = False
        self.namespaces = set()

    def answer(self, method, kind, group, name, query, body):
        verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "GET": "get" if name else "list"}[method]
        self.asked.add((group or "", kind, verb))
        if self.refusal:
            return self.refusal, status_of("refused")
        there = self.resources[kind]
        if method == "POST":
            there[body["metadata"]["name"]] = body
            self.made.append(body)
            self.operate(body)
            return 201, body
        if name is None:
            return 200, {"kind": "List", "items": [one for one in there.values() if is_selected(one, query)]}
        if name not in there:
            return 404, status_of(f"{kind} {name} not found")
        if method == "DELETE":
            self.resources["pods"].clear()
            self.deleted.append((name, (body or {}).get("propagationPolicy")))
            return 200, there.pop(name)
        return 200, there[name]

    def operate(self, made):
        """Do what the operator does, which starts pods."""
        if made["kind"] != "DaskCluster":
            return
        if self.ignored:
            self.ignored -= 1
            return
        name = made["metadata"]["name"]
        if self.full:
            event = {
                "involvedObject": {"kind": "ReplicaSet", "name": f"{name}-scheduler-59b8"},
                "reason": "FailedCreate",
                "message": "Error creating: pods is forbidden: exceeded quota: small",
            }
            about = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, **event}
            self.resources["events"]["e"] = about
            return
        self.start(made)
        made["status"] = {"phase": self.phase}
        labels = {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
        about = {"name": f"{name}-scheduler", "namespace": made["metadata"]["namespace"], "labels": labels, "uid": "1"}
        self.resources["pods"][about["name"]] = {
            "apiVersion": "v1", "kind": "Pod", "metadata": about,
            "status": self.pod,
        }  # fmt: skip
        service = made["spec"]["scheduler"]["service"]
        self.resources["services"][about["name"]] = {
            "apiVersion": "v1", "kind": "Service", "metadata": about, "spec": service, "status": {},
        }  # fmt: skip


def is_selected(resource, query):
    labels = resource["metadata"].get("labels", {})
    wanted = dict(pair.split("=") for pair in query.get("labelSelector", [""])[0].split(",") if pair)
    fields = dict(pair.split("=") for pair in query.get("fieldSelector", [""])[0].split(",") if pair)
    fields.pop("type", None)  # all events here are warnings
    return (
        all(labels.get(key) == value for key, value in wanted.items())
        and fields.get("metadata.name", resource["metadata"]["name"]) == (resource["metadata"]["name"])
    )


def status_of(message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}


@contextmanager
def kubernetes_api(folder, start):
    """Run a server, which calls `start` with every DaskCluster; yield what it has, and a file that leads to it."""
    state = Kubernetes(start)

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            url = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            found = PATH.fullmatch(url.path)
            if found:
                state.namespaces.add(found["namespace"])
                if body and "metadata" in body:
                    body["metadata"].setdefault("namespace", found["namespace"])
            code, content = (
                state.answer(self.command, found["kind"], found["group"], found["name"], parse_qs(url.query), body)
                if found
                else (200, DISCOVERY[url.path.rstrip("/")])
            )
            text = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "test", "user": {"token": "token"}}],
    }  # fmt: skip
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    try:
        yield state, path
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
