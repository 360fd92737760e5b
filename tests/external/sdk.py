"""The sales server as the official Python SDK sees it: `sdk.py FOLDER`, in an environment with mcp 1.x or 2.x.

Both eras of the SDK run the same checks, over standard input and output and over HTTP.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import pathlib
import sys
import traceback

import jsonschema
import pydantic
import server
import tokens
from server import AOKI, HARA, ISHII

MODERN = importlib.metadata.version("mcp").startswith("2.")
NEWEST = "2026-07-28" if MODERN else "2025-11-25"

if MODERN:
    import httpx2 as httpx
    from mcp import Client, MCPError as McpError, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
else:
    import httpx
    from mcp import ClientSession, McpError, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

READS = {
    "get_customers": {"name_str_customer": "高橋"},
    "get_sales": {"code_customer": "0001"},
    "list_registrations": {},
    "summarize_sales": {
        "date_sales_begin_str": "2020-01-01",
        "date_sales_end_str": "2030-12-31",
        "group_by": "month",
    },
}
SALE = {"code_customer": "0001", "products": "カタカナ ｶﾀｶﾅ 葛\U000e0100城の米 5kg 👨‍🌾", "price": 600, "date_sales_str": "2026-11-01"}


def get(value, snake: str, camel: str):
    """A field under the name of this era."""
    return getattr(value, snake if MODERN else camel)


class Bearer(httpx.Auth):
    """A token per request: the caller's for a call, else the service's."""

    requires_request_body = True

    def __init__(self, keys):
        self.keys = keys

    def auth_flow(self, request):
        body = json.loads(request.content) if request.content else {}
        token = self.keys.service()
        if body.get("method") == "tools/call":
            params = body["params"]
            token = params.get("_meta", {}).pop(tokens.CALLER, token)
            # The token is lifted out of the message, as a host does over HTTP.
            content = json.dumps(body, ensure_ascii=False).encode()
            headers = {k: v for k, v in request.headers.items() if k.lower() != "content-length"}
            request = httpx.Request(request.method, request.url, headers=headers, content=content)
        request.headers["Authorization"] = f"Bearer {token}"
        yield request


class Session:
    """One connection, whichever the era and the transport."""

    def __init__(self, client, keys, version):
        self.client, self.keys, self.version = client, keys, version

    async def call(self, tool, arguments, person=AOKI, caller=None, approval=None, plain=False):
        meta = {} if plain else {tokens.CALLER: caller or self.keys.caller(person, tool, arguments)}
        if approval:
            meta[tokens.APPROVAL] = approval
        return await self.client.call_tool(tool, arguments, meta=meta or None)


@contextlib.asynccontextmanager
async def connect(transport, folder, keys, url, one=None):
    async with contextlib.AsyncExitStack() as stack:
        if transport == "http":
            client = await stack.enter_async_context(httpx.AsyncClient(auth=Bearer(keys), timeout=30))
            streams = streamable_http_client(url, http_client=client)
        else:
            args = ["sales-server", "--transport", "stdio", "--data-dir", str(folder)]
            env = {} if one else server.environment(keys)
            args += ["--as", one] if one else []
            parameters = StdioServerParameters(command=server.PROGRAM, args=args, env=env)
            streams = parameters if MODERN else stdio_client(parameters)
        if MODERN:
            client = await stack.enter_async_context(Client(streams))
            version = client.protocol_version
        else:
            streams = await stack.enter_async_context(streams)
            client = await stack.enter_async_context(ClientSession(*streams[:2]))
            version = (await client.initialize()).protocolVersion
        yield Session(client, keys, version)


def refused(result, code):
    assert get(result, "is_error", "isError"), f"not an error: {result}"
    data = get(result, "structured_content", "structuredContent")
    assert data["status"] == "error" and data["data"]["code"] == code, data
    assert data["data"]["error"], "no sentence"


def answered(result):
    assert not get(result, "is_error", "isError"), result
    data = get(result, "structured_content", "structuredContent")
    assert data["status"] == "success", data
    return data["data"]


async def the_newest_version_both_know_is_spoken(s, _):
    assert s.version == NEWEST, s.version


async def tools_are_listed_with_schemas_that_are_schemas(s, _):
    tools = (await s.client.list_tools()).tools
    assert {t.name for t in tools} == {*READS, "add_sale", "cancel_sale"}, tools
    for tool in tools:
        for schema in (get(tool, "input_schema", "inputSchema"), get(tool, "output_schema", "outputSchema")):
            jsonschema.Draft202012Validator.check_schema(schema)
        reads = get(tool.annotations, "read_only_hint", "readOnlyHint")
        assert bool(reads) == (tool.name in READS), tool.name


async def resources_are_listed_and_read(s, _):
    listed = (await s.client.list_resources()).resources
    assert {str(r.uri) for r in listed} == {"sales://guide", "sales://schema"}, listed
    for resource in listed:
        read = await s.client.read_resource(resource.uri)
        assert len(read.contents[0].text) > 100


async def a_resource_that_does_not_exist_is_an_error(s, _):
    with raises() as caught:
        await s.client.read_resource("sales://nothing" if MODERN else pydantic.AnyUrl("sales://nothing"))
    assert caught.code in (-32002, -32602), caught.code


async def prompts_are_listed_and_filled_in(s, _):
    prompts = (await s.client.list_prompts()).prompts
    assert prompts
    for prompt in prompts:
        arguments = {argument.name: "あ" for argument in prompt.arguments or []}
        filled = await s.client.get_prompt(prompt.name, arguments)
        assert filled.messages[0].content.text


async def every_read_answers_what_its_output_schema_says(s, _):
    schemas = {t.name: get(t, "output_schema", "outputSchema") for t in (await s.client.list_tools()).tools}
    for tool, arguments in READS.items():
        result = await s.call(tool, arguments)
        assert answered(result)["departments"] is not None
        jsonschema.validate(get(result, "structured_content", "structuredContent"), schemas[tool])
        assert json.loads(result.content[0].text) == get(result, "structured_content", "structuredContent")


async def japanese_text_comes_back_as_it_is(s, _):
    customers = answered(await s.call("get_customers", {"name_str_customer": "高橋"}))["customers"]
    assert [c["name_customer"] for c in customers] == ["高橋 陽子"], customers


async def a_tool_that_does_not_exist_is_a_protocol_error(s, _):
    with raises() as caught:
        await s.call("drop_table", {})
    assert caught.code == -32602, caught


async def bad_arguments_are_refused_by_code(s, _):
    refused(await s.call("get_sales", {}), "invalid_arguments")
    refused(await s.call("get_sales", {"code_customer": "0001", "department": "卸"}), "invalid_arguments")
    refused(await s.call("get_sales", {"code_customer": "9999"}), "customer_not_found")
    dates = {"code_customer": "0001", "date_sales_begin_str": "2026-02-30"}
    refused(await s.call("get_sales", dates), "invalid_date")


async def i10_a_token_for_other_arguments_or_another_tool_is_refused(s, _):
    token = s.keys.caller(AOKI, "get_sales", {"code_customer": "0001"})
    refused(await s.call("get_sales", {"code_customer": "0002"}, caller=token), "caller_invalid")
    refused(await s.call("get_customers", {"code_customer": "0001"}, caller=token), "caller_invalid")


async def i08_a_write_without_approval_is_refused(s, _):
    refused(await s.call("add_sale", SALE), "approval_required")
    refused(await s.call("cancel_sale", {"code_sales": "S20261123061500-001", "reason": "x"}), "approval_required")
    refused(await s.call("add_sale", SALE, person=HARA), "not_allowed")


async def i06_rights_are_those_of_the_records(s, _):
    refused(await s.call("get_sales", {"code_customer": "0001"}, person=ISHII), "not_allowed")
    refused(await s.call("get_sales", {"code_customer": "0003"}, person=HARA), "customer_not_found")


async def i02_an_approved_write_is_done_once_and_repeated_as_the_first(s, folder):
    write = {
        "tool": "add_sale",
        "code_customer": "0001",
        "name_customer": "高橋 陽子",
        "department": "直販",
        "products": SALE["products"],
        "price": SALE["price"],
        "date_sales": SALE["date_sales_str"],
    }
    proposal = server.claimed_proposal(folder, write)

    async def once():
        data = answered(await s.call("add_sale", SALE, approval=s.keys.approval(AOKI, proposal, write)))
        return data["sales_registered"], data.get("repeated", False)

    done = await asyncio.gather(*(once() for _ in range(4)))
    assert sorted(repeated for _, repeated in done) == [False, True, True, True], done
    assert len({row["code_sales"] for row, _ in done}) == 1, done
    assert done[0][0]["products"] == SALE["products"], done[0]
    other = {**SALE, "price": 601}
    approval = s.keys.approval(AOKI, proposal, {**write, "price": 601})
    refused(await s.call("add_sale", other, approval=approval), "approval_mismatch")


async def calls_side_by_side_each_get_their_own_answer(s, _):
    async def one(code):
        customers = answered(await s.call("get_customers", {"code_customer": code}))["customers"]
        assert [c["code_customer"] for c in customers] == [code], customers

    await asyncio.gather(*(one(["0001", "0002"][n % 2]) for n in range(40)))


async def a_client_that_gives_up_leaves_a_server_that_answers(s, _):
    gave_up = False
    try:
        async with asyncio.timeout(0.0001):
            await s.call("summarize_sales", READS["summarize_sales"])
    except TimeoutError:
        gave_up = True
    assert gave_up, "a tenth of a millisecond was enough"
    answered(await s.call("get_customers", {"code_customer": "0001"}))


async def as_one_person_reads_are_theirs_and_writes_are_refused(s, _):
    answered(await s.call("get_customers", {"code_customer": "0001"}, plain=True))
    refused(await s.call("get_sales", {"code_customer": "0003"}, plain=True), "customer_not_found")
    refused(await s.call("add_sale", SALE, plain=True), "approval_required")
    # A token in the request changes nothing: this server is one person's.
    token = s.keys.caller("slack:T0HINATA:U0NISHI", "get_sales", {"code_customer": "0003"})
    refused(await s.call("get_sales", {"code_customer": "0003"}, caller=token), "customer_not_found")


async def i10_a_forged_approval_writes_nothing(s, _):
    before = answered(await s.call("get_sales", {"code_customer": "0001"}))
    write = {"tool": "add_sale", "code_customer": "0001"}
    for approval in (
        "x",
        s.keys.approval(AOKI, "0" * 32, write),  # of no proposal
        s.keys.caller(AOKI, "add_sale", SALE),  # another use, another key
        s.keys.approval(HARA, "0" * 32, write),  # another person's
    ):
        refused(await s.call("add_sale", SALE, approval=approval), "approval_invalid")
    after = answered(await s.call("get_sales", {"code_customer": "0001"}))
    assert (after["count"], after["total_price"]) == (before["count"], before["total_price"]), "something was written"


async def a_call_without_a_caller_is_refused(s, _):
    refused(await s.call("get_customers", {"code_customer": "0001"}, plain=True), "caller_required")


async def i10_an_expired_caller_token_ends_in_an_error_that_says_so(s, _):
    token = s.keys.caller(AOKI, "get_customers", {"code_customer": "0001"}, iat=1, exp=2)
    refused(await s.call("get_customers", {"code_customer": "0001"}, caller=token), "caller_expired")


class raises:
    code = None

    def __enter__(self):
        return self

    def __exit__(self, kind, caught, _):
        assert kind is not None, "no error"
        if isinstance(caught, McpError):
            self.code = caught.error.code
            return True
        return False


BOTH = [
    the_newest_version_both_know_is_spoken,
    tools_are_listed_with_schemas_that_are_schemas,
    resources_are_listed_and_read,
    a_resource_that_does_not_exist_is_an_error,
    prompts_are_listed_and_filled_in,
    every_read_answers_what_its_output_schema_says,
    japanese_text_comes_back_as_it_is,
    a_tool_that_does_not_exist_is_a_protocol_error,
    bad_arguments_are_refused_by_code,
    i10_a_token_for_other_arguments_or_another_tool_is_refused,
    i08_a_write_without_approval_is_refused,
    i06_rights_are_those_of_the_records,
    i02_an_approved_write_is_done_once_and_repeated_as_the_first,
    calls_side_by_side_each_get_their_own_answer,
    a_client_that_gives_up_leaves_a_server_that_answers,
    i10_a_forged_approval_writes_nothing,
]
STDIO = [*BOTH, a_call_without_a_caller_is_refused, i10_an_expired_caller_token_ends_in_an_error_that_says_so]


async def refusals_over_http(url, keys):
    """What a client sees before MCP begins."""
    # A connection each: a server may close one whose request it answered without reading the body.
    async with httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0), timeout=30) as client:
        expired = keys.caller(AOKI, "get_customers", {}, iat=1, exp=2)
        bad = ("Bearer x", "Basic eDp5", f"Bearer {expired}")
        for headers in ({}, *({"Authorization": value} for value in bad)):
            for method in ("GET", "POST", "DELETE"):
                response = await client.request(method, url, headers=headers)
                challenge = response.headers.get("www-authenticate", "")
                assert response.status_code == 401, (method, headers, response.status_code)
                assert challenge.startswith("Bearer ") and "resource_metadata=" in challenge, challenge
                assert ("invalid_token" in challenge) == bool(headers), challenge
        named = challenge.split('resource_metadata="')[1].split('"')[0]
        metadata = (await client.get(named)).json()
        assert metadata["resource"] == url, metadata
        good = {"Authorization": f"Bearer {keys.service()}"}
        response = await client.post(url, headers={**good, "Origin": "https://elsewhere.example"}, json={})
        assert response.status_code == 403, response.status_code
        response = await client.post(url, headers={**good, "Host": "elsewhere.example"}, json={})
        assert response.status_code == 403, response.status_code


async def main(folder: pathlib.Path) -> int:
    keys = server.sample_data(folder)
    counts = {True: 0, False: 0}
    print(f"mcp {importlib.metadata.version('mcp')}")

    async def check(transport, name, work):
        try:
            async with asyncio.timeout(30):
                await work()
            counts[True] += 1
        except Exception:
            counts[False] += 1
            print(f"FAILED {transport} {name}")
            traceback.print_exc(file=sys.stdout)

    with server.over_http(folder, keys) as url:
        for transport, checks, one in (
            ("stdio", STDIO, None),
            ("http", BOTH, None),
            ("stdio --as", [as_one_person_reads_are_theirs_and_writes_are_refused], AOKI),
        ):
            for test in checks:

                async def work(test=test, transport=transport, one=one):
                    async with connect(transport.split()[0], folder, keys, url, one) as session:
                        await test(session, folder)

                await check(transport, test.__name__, work)
        await check("http", "refusals_over_http", lambda: refusals_over_http(url, keys))
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] or not counts[True] else 0


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main(where)))
