"""Headless Chromium, driven through its DevTools protocol: needs nothing but the browser and tornado's WebSocket."""

import asyncio
import json
import shutil
import subprocess
import time
from base64 import b64decode
from io import BytesIO
from urllib.request import urlopen

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--remote-debugging-port=0",
)  # fmt: skip

SECONDS_TO_START = 120


def browser_path():
    """Return where a browser is; None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Tab:
    """A page in a browser that was started for it."""

    def __init__(self, folder):
        self.runner = asyncio.Runner()
        self.folder, self.complaints, self._number = folder, [], 0
        self.socket = None

    def __enter__(self):
        log = (self.folder / "browser.log").open("wb")
        command = [browser_path(), *FLAGS, f"--user-data-dir={self.folder / 'profile'}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        try:
            self.socket = self.runner.run(self._connect())
            for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
                self(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.runner.run(self._disconnect())
        self.runner.close()

    async def _connect(self):
        from tornado.websocket import websocket_connect

        port = self._port()
        with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=SECONDS_TO_START) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        return await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=2**28)

    async def _disconnect(self):
        if self.socket is not None:
            self.socket.close()
            while await self.socket.read_message() is not None:
                pass

    def _port(self):
        file, until = self.folder / "profile" / "DevToolsActivePort", time.monotonic() + SECONDS_TO_START
        while time.monotonic() < until and self.process.poll() is None:
            if file.exists() and (lines := file.read_text().split("\n"))[0]:
                return lines[0]
            time.sleep(0.05)
        raise RuntimeError(f"the browser did not start: {(self.folder / 'browser.log').read_text()[-2000:]}")

    def __call__(self, method, **parameters):
        """Send a command; return its result. What pages complain about on the way is kept in `complaints`."""
        return self.runner.run(self._call(method, parameters))

    async def _call(self, method, parameters):
        self._number += 1
        await self.socket.write_message(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = await self._next()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    async def _next(self):
        text = await asyncio.wait_for(self.socket.read_message(), timeout=300)
        assert text is not None, "the browser has gone"
        message = json.loads(text)
        match message.get("method"):
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(message["params"])
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith(("file:", "data:", "about:")):
                    self.complaints.append(address)
        return message

    def open(self, path, width, height, dark=False, phone=False):
        """Open a file in a window of that size; forget earlier complaints."""
        self.complaints.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}])
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        self.runner.run(self._navigate(path.as_uri()))

    async def _navigate(self, address):
        self._loaded = False
        await self._call("Page.navigate", {"url": address})
        while not self._loaded:
            await self._next()

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        result = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, whole=False):
        """Return the pixels of the window, or of the whole page."""
        from PIL import Image

        shot = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        return np.asarray(Image.open(BytesIO(b64decode(shot["data"]))).convert("RGB"))

    def _clip(self, whole):
        if not whole:
            return {}
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def press(self, key, shift=False):
        """Press a key."""
        code = {"Tab": 9, "Enter": 13, " ": 32}[key]
        keys = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        if key != "Tab":
            keys["text"] = "\r" if key == "Enter" else key
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, modifiers=8 if shift else 0, **keys)

    def accessible(self):
        """Return roles and names of what a screen reader finds, in its order."""
        nodes = self("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""), node)
            for node in nodes
            if not node["ignored"] and "role" in node
        ]
