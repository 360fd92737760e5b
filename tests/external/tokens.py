"""Tokens of the sales server, made from the description in docs/architecture.md and not with the code under test."""

import base64
import hashlib
import itertools
import json
import pathlib
import secrets
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CALLER = "sales-concierge/caller"
APPROVAL = "sales-concierge/approval"
_counter = itertools.count()
_prefix = secrets.token_hex(8)


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical(value) -> str:
    """RFC 8785 for what we send: strings, integers, lists, and objects with ASCII keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class Keys:
    def __init__(self, data_dir: pathlib.Path):
        seeds = json.loads((data_dir / "keys.json").read_text())
        self._keys = {
            name: Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(seeds[name] + "="))
            for name in ("caller", "approval")
        }

    def public(self, name: str) -> str:
        return _b64(self._keys[name].public_key().public_bytes_raw())

    def _sign(self, key: str, typ: str, claims: dict, **changed) -> str:
        now = int(time.time())
        claims = {
            **claims,
            "iss": "sales-concierge",
            "aud": "sales-server",
            "iat": now,
            "exp": now + 60,
            "jti": f"{_prefix}-{next(_counter)}",
            **changed,
        }
        parts = [_b64(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": typ}, claims)]
        signed = ".".join(parts)
        return f"{signed}.{_b64(self._keys[key].sign(signed.encode()))}"

    def caller(self, person: str, tool: str, arguments: dict, **changed) -> str:
        return self._sign("caller", "caller+jwt", {"sub": person, "tool": tool, "args": digest(arguments)}, **changed)

    def service(self) -> str:
        return self._sign("caller", "service+jwt", {})

    def approval(self, person: str, proposal: str, write: dict) -> str:
        claims = {"proposal": proposal, "digest": digest(write), "requester": person, "approver": person}
        return self._sign("approval", "approval+jwt", claims)
