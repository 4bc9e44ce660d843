"""A web service that deploys a site for each name that it is asked for."""

import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pulumi
from pulumi import automation as auto


def site(host: str) -> auto.PulumiFn:
    def program() -> None:
        pulumi.ComponentResource("shop:index:Site", host)
        pulumi.export("url", f"https://{host}.example.com/")

    return program


class Service(BaseHTTPRequestHandler):
    def answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        name = self.path.strip("/")
        try:
            stack = auto.create_stack(name, project_name="sites", program=site(name))
        except auto.StackAlreadyExistsError:
            self.answer(409, {"error": f"{name} exists"})
            return
        self.answer(201, {"url": stack.up().outputs["url"].value})

    def do_DELETE(self) -> None:
        name = self.path.strip("/")
        try:
            stack = auto.select_stack(name, project_name="sites", program=site(name))
        except auto.StackNotFoundError:
            self.answer(404, {"error": f"there is no {name}"})
            return
        stack.destroy(remove=True)
        self.answer(200, {"deleted": name})

    def log_message(self, format: str, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(method: str, name: str) -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_address[1]}/{name}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


assert ask("POST", "one") == (201, {"url": "https://one.example.com/"})
assert ask("POST", "two") == (201, {"url": "https://two.example.com/"})
assert ask("POST", "one")[0] == 409
assert ask("DELETE", "one") == (200, {"deleted": "one"})
assert ask("DELETE", "one")[0] == 404
print(ask("DELETE", "two"))
server.shutdown()
