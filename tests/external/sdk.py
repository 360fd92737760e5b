"""The sales server as the official Python SDK of MCP meets it, over stdio and over Streamable HTTP.

    python sdk.py PROGRAM DATA_DIR

PROGRAM is a built sales-concierge, DATA_DIR a folder that its playground has filled. The tokens are signed here, with
another library than the program's, so their form is checked from outside, too. Runs with `mcp` 1.x and 2.x.
"""

import asyncio
import base64
import contextlib
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import time
import traceback
import uuid

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from mcp.client.stdio import StdioServerParameters

NEW = importlib.metadata.version("mcp").startswith("2.")
TEAM, PERSON = "T0HINATA", "U0AOKI"
CALLER, APPROVAL = "sales-concierge/caller", "sales-concierge/approval"
TOOLS = {"get_customers", "get_sales", "list_registrations", "summarize_sales", "add_sale", "cancel_sale"}
YEAR = {"date_sales_begin_str": "2020-01-01", "date_sales_end_str": "2035-12-31"}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def canonical(value):
    """RFC 8785 for what stands here: strings, integers, objects with ASCII keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


class Keys:
    def __init__(self, folder):
        with open(os.path.join(folder, "keys.json"), encoding="utf-8") as file:
            seeds = json.load(file)
        self.caller = Ed25519PrivateKey.from_private_bytes(unb64(seeds["caller"]))
        self.approval = Ed25519PrivateKey.from_private_bytes(unb64(seeds["approval"]))

    @staticmethod
    def sign(key, typ, claims):
        now = int(time.time())
        claims = {**claims, "iss": "sales-concierge", "aud": "sales-server", "iat": now, "exp": now + 60}
        claims["jti"] = uuid.uuid4().hex
        head = b64(json.dumps({"alg": "EdDSA", "typ": typ}).encode())
        signed = f"{head}.{b64(json.dumps(claims).encode())}"
        return f"{signed}.{b64(key.sign(signed.encode()))}"

    def call(self, tool, arguments, user=PERSON):
        digest = hashlib.sha256(canonical(arguments)).hexdigest()
        claims = {"sub": f"slack:{TEAM}:{user}", "tool": tool, "args": digest}
        return self.sign(self.caller, "caller+jwt", claims)

    def service(self):
        return self.sign(self.caller, "service+jwt", {})


def environment(program, folder):
    shown = subprocess.run([program, "keys", "show", "--data-dir", folder], check=True, capture_output=True, text=True)
    env = dict(line.split("=", 1) for line in shown.stdout.split())
    return {**env, "PATH": os.environ["PATH"], "SALES_CONCIERGE__LOG__FILTER": "warn"}


class Client:
    """The same few calls for both SDKs and both transports."""

    def __init__(self, session, keys, per_request):
        self.session, self.keys, self.per_request = session, keys, per_request

    async def call(self, tool, arguments, *, token=True, meta=None):
        meta = dict(meta or {})
        if token and not self.per_request and self.keys:
            meta[CALLER] = self.keys.call(tool, arguments)
        return await self.session.call_tool(tool, arguments, meta=meta or None)


def field(value, old, new):
    return getattr(value, new if NEW else old)


def structured(result):
    return field(result, "structuredContent", "structured_content")


def is_error(result):
    return bool(field(result, "isError", "is_error"))


def http_client(keys):
    """Signs each request by what it carries."""
    if NEW:
        import httpx2 as httpx
    else:
        import httpx

    class PerRequest(httpx.Auth):
        requires_request_body = True

        def auth_flow(self, request):
            body = json.loads(request.content or b"{}")
            token = keys.service()
            if isinstance(body, dict) and body.get("method") == "tools/call":
                params = body["params"]
                token = keys.call(params["name"], params.get("arguments") or {})
            request.headers["Authorization"] = f"Bearer {token}"
            yield request

    return httpx.AsyncClient(auth=PerRequest(), timeout=30)


@contextlib.asynccontextmanager
async def over_stdio(program, folder, keys, *more):
    arguments = ["sales-server", "--transport", "stdio", "--data-dir", folder, *more]
    parameters = StdioServerParameters(command=program, args=arguments, env=environment(program, folder))
    if NEW:
        from mcp import Client as Sdk

        async with Sdk(parameters) as session:
            yield Client(session, keys, False)
    else:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client

        async with stdio_client(parameters) as (reads, writes), ClientSession(reads, writes) as session:
            await session.initialize()
            yield Client(session, keys, False)


@contextlib.asynccontextmanager
async def over_http(program, folder, keys):
    arguments = ["sales-server", "--transport", "http", "--listen", "127.0.0.1:0", "--data-dir", folder]
    server = subprocess.Popen([program, *arguments], env=environment(program, folder), stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().removeprefix("ready ").strip()
        assert url.startswith("http://127.0.0.1:"), url
        async with http_client(keys) as client:
            from mcp.client.streamable_http import streamable_http_client

            if NEW:
                from mcp import Client as Sdk

                async with Sdk(streamable_http_client(url, http_client=client)) as session:
                    yield Client(session, keys, True)
            else:
                from mcp import ClientSession

                async with streamable_http_client(url, http_client=client) as (reads, writes, _):
                    async with ClientSession(reads, writes) as session:
                        await session.initialize()
                        yield Client(session, keys, True)
    finally:
        server.terminate()
        assert server.wait(15) == 0, "the server ends cleanly"


async def it_lists_its_tools_with_schemas_resources_and_prompts(client):
    tools = (await client.session.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS, tools
    for tool in tools:
        assert field(tool, "inputSchema", "input_schema")["type"] == "object", tool
        assert field(tool, "outputSchema", "output_schema")["type"] == "object", tool
        assert tool.description, tool
    resources = (await client.session.list_resources()).resources
    assert {"sales://guide", "sales://schema"} <= {str(resource.uri) for resource in resources}
    guide = await client.session.read_resource("sales://guide")
    assert "Monday" in guide.contents[0].text
    prompts = (await client.session.list_prompts()).prompts
    assert prompts, "a prompt for each typical task"


async def each_read_answers_what_its_output_schema_says_and_japanese_comes_back_whole(client):
    found = await client.call("get_customers", {"name_str_customer": "さとう"})
    assert not is_error(found) and structured(found)["status"] == "success", found
    found = await client.call("get_customers", {"name_str_customer": "佐藤"})
    names = [row["name_customer"] for row in structured(found)["data"]["customers"]]
    assert names and all("佐藤" in name for name in names), names
    assert json.loads(found.content[0].text) == structured(found), "text and structure say the same"
    for tool, arguments in [
        ("get_customers", {"code_customer": "0002"}),
        ("get_sales", {"code_customer": "0002"}),
        ("list_registrations", {}),
        ("summarize_sales", {**YEAR, "group_by": "month"}),
    ]:
        result = await client.call(tool, arguments)
        assert structured(result)["status"] == "success" and not is_error(result), result


async def a_refusal_has_its_code_and_is_an_error(client):
    for tool, arguments, code in [
        ("get_sales", {"code_customer": "9999"}, "customer_not_found"),
        ("get_sales", {"code_customer": "0002", "date_sales_begin_str": "2026-02-30"}, "invalid_date"),
        ("get_customers", {"code_customer": 7}, "invalid_arguments"),
        ("get_customers", {"unknown": "x"}, "invalid_arguments"),
        ("add_sale", {"code_customer": "0002", "products": "かぼちゃ", "price": 600}, "approval_required"),
        ("cancel_sale", {"code_sales": "S1", "reason": "x"}, "approval_required"),
    ]:
        result = await client.call(tool, arguments)
        assert is_error(result), (tool, result)
        data = structured(result)["data"]
        assert data["code"] == code and data["error"], (tool, data)


async def a_tool_that_is_not_there_is_an_error_of_the_protocol(client):
    try:
        result = await client.call("drop_tables", {})
    except Exception as error:
        assert "tool" in str(error).lower(), error
    else:
        assert is_error(result), result


async def a_call_without_a_caller_is_refused_over_stdio(client):
    if client.per_request:
        return
    result = await client.call("get_customers", {"code_customer": "0002"}, token=False)
    assert is_error(result) and structured(result)["data"]["code"] == "caller_required", result


async def calls_side_by_side_are_each_answered(client):
    codes = [f"{n:04}" for n in range(1, 9)] * 4
    results = await asyncio.gather(*(client.call("get_customers", {"code_customer": code}) for code in codes))
    for code, result in zip(codes, results):
        rows = structured(result)["data"]["customers"]
        assert all(row["code_customer"] == code for row in rows), (code, rows)


async def a_forged_approval_writes_nothing(client):
    arguments = {"code_customer": "0002", "products": "かぼちゃ", "price": 600, "date_sales_str": "2026-11-30"}
    subject = f"slack:{TEAM}:{PERSON}"
    claims = {"proposal": "none", "digest": "0" * 64, "requester": subject, "approver": subject}
    for key, code in [(client.keys.caller, "approval_invalid"), (client.keys.approval, "approval_invalid")]:
        token = client.keys.sign(key, "approval+jwt", claims)
        result = await client.call("add_sale", arguments, meta={APPROVAL: token})
        assert is_error(result) and structured(result)["data"]["code"] == code, result


async def a_person_named_at_start_reads_without_tokens_and_writes_nothing(client):
    found = await client.call("get_customers", {"code_customer": "0002"}, token=False)
    assert structured(found)["data"]["count"] == 1, found
    arguments = {"code_customer": "0002", "products": "かぼちゃ", "price": 600}
    result = await client.call("add_sale", arguments, token=False)
    data = structured(result)["data"]
    assert is_error(result) and data["code"] == "approval_required" and "Slack" in data["error"], data


BY_TOKEN = [
    it_lists_its_tools_with_schemas_resources_and_prompts,
    each_read_answers_what_its_output_schema_says_and_japanese_comes_back_whole,
    a_refusal_has_its_code_and_is_an_error,
    a_tool_that_is_not_there_is_an_error_of_the_protocol,
    a_call_without_a_caller_is_refused_over_stdio,
    calls_side_by_side_are_each_answered,
    a_forged_approval_writes_nothing,
]


async def main(program, folder):
    keys = Keys(folder)
    person = ["--as", f"slack:{TEAM}:{PERSON}"]
    runs = [
        ("stdio", lambda: over_stdio(program, folder, keys), BY_TOKEN),
        ("http", lambda: over_http(program, folder, keys), BY_TOKEN),
        (
            "stdio --as",
            lambda: over_stdio(program, folder, None, *person),
            [
                it_lists_its_tools_with_schemas_resources_and_prompts,
                a_person_named_at_start_reads_without_tokens_and_writes_nothing,
            ],
        ),
    ]
    passed = failed = 0
    for name, connect, checks in runs:
        async with connect() as client:
            for check in checks:
                try:
                    await asyncio.wait_for(check(client), 30)
                    passed += 1
                except Exception:
                    failed += 1
                    print(f"FAILED {name}: {check.__name__}")
                    traceback.print_exc()
    print(f"mcp {importlib.metadata.version('mcp')}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
