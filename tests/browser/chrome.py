"""A headless Chromium over its debugging pipe: no driver, no port, nothing to install but the browser itself."""
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The path of a browser, or None."""
    return os.environ.get("MFUPLAN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Chrome:
    def __init__(self, path, width=1280, height=900, dark=False, touch=False):
        self.home = tempfile.mkdtemp(prefix="mfu-browser-")
        down, up = os.pipe(), os.pipe()     # to and from the browser, which reads 3 and writes 4

        def connect():
            a, b = os.dup2(down[0], 30), os.dup2(up[1], 31)
            os.dup2(a, 3), os.dup2(b, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
             "--remote-debugging-pipe", "--user-data-dir=" + self.home, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=connect)
        os.close(down[0]), os.close(up[1])
        self.to, self.back = down[1], up[0]
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def receive(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            m = self.receive()
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']['message']}")
                return m["result"]
            self.events.append(m)

    def run(self, expression):
        """The value of an expression, awaited."""
        r = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(r["exceptionDetails"].get("exception", {}).get("description", "") + " in " + expression[:200])
        return r["result"].get("value")

    def until(self, expression, seconds=60):
        end = time.time() + seconds
        while not self.run(expression):
            if time.time() > end:
                raise RuntimeError("never: " + expression)
            time.sleep(0.05)

    def screenshot(self, path, full=False):
        import base64
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=full)["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(30)
        os.close(self.to), os.close(self.back)
        shutil.rmtree(self.home, ignore_errors=True)
