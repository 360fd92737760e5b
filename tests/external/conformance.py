"""The MCP project's own conformance suite against the sales server over Streamable HTTP.

    python conformance.py PROGRAM DATA_DIR NODE SUITE

NODE is a Node 22 or newer, SUITE the script of the suite. The suite knows no bearer tokens, and the server takes no
request without one: a proxy on loopback signs each request by what it carries and passes everything else on as it is.
What cannot pass is listed, with its reason, in conformance-expected-failures.yaml; the run fails when that list is wrong
in either direction.
"""

import http.client
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse

from sdk import Keys, environment

HERE = os.path.dirname(os.path.abspath(__file__))
HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


def proxy(keys):
    class Proxy(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                message = json.loads(body or b"{}")
            except ValueError:
                message = {}
            token = keys.service()
            if isinstance(message, dict) and message.get("method") == "tools/call":
                params = message.get("params") or {}
                token = keys.call(str(params.get("name")), params.get("arguments") or {})
            target = self.server.target
            upstream = http.client.HTTPConnection(target.hostname, target.port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            # The names by which the suite calls the server are kept, but for the proxy's own port.
            if headers.get("Host", "").endswith(f":{self.server.server_port}"):
                headers["Host"] = f"{target.hostname}:{target.port}"
            headers["Authorization"] = f"Bearer {token}"
            upstream.request(self.command, self.path, body=body, headers=headers)
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = forward

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)


def main(program, folder, node, suite):
    keys = Keys(folder)
    gate = proxy(keys)
    arguments = ["sales-server", "--transport", "http", "--listen", "127.0.0.1:0", "--data-dir", folder]
    # The suite calls from a page that it takes to be the server's own.
    env = environment(program, folder)
    env["SALES_CONCIERGE__SALES_SERVER__ALLOWED_ORIGINS"] = f"http://localhost:{gate.server_port}"
    env["SALES_CONCIERGE__LOG__FILTER"] = "error"
    server = subprocess.Popen([program, *arguments], env=env, stdout=subprocess.PIPE, text=True)
    try:
        gate.target = urllib.parse.urlsplit(server.stdout.readline().removeprefix("ready ").strip())
        threading.Thread(target=gate.serve_forever, daemon=True).start()
        url = f"http://localhost:{gate.server_port}/mcp"
        expected = os.path.join(HERE, "conformance-expected-failures.yaml")
        command = [node, suite, "server", "--url", url, "--suite", "active", "--timeout", "10000"]
        return subprocess.run([*command, "--expected-failures", expected], check=False).returncode
    finally:
        server.terminate()
        server.wait(15)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
