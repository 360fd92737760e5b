"""Runs the MCP project's conformance suite against the sales server: `conformance.py FOLDER NODE SUITE`.

The suite cannot send a bearer, so a proxy on loopback adds one to each request, as a host would, and changes nothing
else. `expected-failures.txt` names each check that cannot pass, and why; the run fails when a check fails that is not
there, and when one is there that passes.
"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import httpx
import server
import uvicorn
from server import AOKI
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

HERE = pathlib.Path(__file__).parent
REVISIONS = ("2025-11-25", "2026-07-28")
# Optional by the specification, and not offered.
EXTENSIONS = ("tasks-",)
PER_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade"}


def loopback() -> tuple:
    """A listener, and the origins of pages served from it."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    return listener, f"http://127.0.0.1:{port},http://localhost:{port}"


def proxy(listener, target: str, keys) -> str:
    client = httpx.AsyncClient(timeout=30)

    async def forward(request):
        body = await request.body()
        headers = [(k, v) for k, v in request.headers.items() if k not in PER_CONNECTION]
        token = keys.service()
        try:
            message = json.loads(body)
            if message["method"] == "tools/call":
                token = keys.caller(AOKI, message["params"]["name"], message["params"].get("arguments", {}))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # what is not a call goes on as the service's
        headers.append(("authorization", f"Bearer {token}"))
        sent = client.build_request(request.method, target, headers=headers, content=body)
        answer = await client.send(sent, stream=True)
        kept = {k: v for k, v in answer.headers.items() if k not in PER_CONNECTION}
        return StreamingResponse(answer.aiter_raw(), answer.status_code, kept, background=None)

    app = Starlette(routes=[Route("/mcp", forward, methods=["GET", "POST", "DELETE", "OPTIONS", "PUT"])])
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True).start()
    while not running.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def expected() -> set:
    """Lines of `REVISION SCENARIO CHECK: reason`."""
    listed = set()
    for line in (HERE / "expected-failures.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            found = re.fullmatch(r"(\S+) (\S+) (\S+): \S.*", line)
            assert found, f"expected-failures.txt: not `REVISION SCENARIO CHECK: reason`: {line}"
            listed.add(found.groups())
    return listed


def main(folder: pathlib.Path, node: str, suite: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    keys = server.sample_data(folder)
    failed, passed = {}, set()
    listener, origins = loopback()
    with server.over_http(folder, keys, SALES_CONCIERGE__SALES_SERVER__ALLOWED_ORIGINS=origins) as url:
        address = proxy(listener, url, keys)
        for revision in REVISIONS:
            results = folder / revision
            shutil.rmtree(results, ignore_errors=True)
            command = [node, suite, "server", "--url", address, "--requirements", revision, "-o", str(results)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=240)
            (folder / f"{revision}.log").write_text(run.stdout + run.stderr)
            for file in results.rglob("checks.json"):
                scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
                if scenario.startswith(EXTENSIONS):
                    continue
                for check in json.loads(file.read_text()):
                    name = (revision, scenario, check["id"])
                    if check["status"] == "FAILURE":
                        failed[name] = check.get("errorMessage") or check.get("description", "")
                    elif check["status"] == "SUCCESS":
                        passed.add(name)
    listed = expected()
    passed -= failed.keys()
    new, stale = failed.keys() - listed, listed - failed.keys()
    for name in sorted(new):
        print("FAILED", *name, "-", " ".join(failed[name].split())[:300])
    for name in sorted(stale):
        print("LISTED, AND DID NOT FAIL", *name)
    if not passed:
        print(f"no check passed; see {folder}")
    print(f"{len(passed)} passed, {len(failed)} failed, of which {len(failed.keys() & listed)} are expected")
    return 1 if new or stale or not passed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
