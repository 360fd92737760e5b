"""Starts the program under test with the playground's sample data."""

import contextlib
import os
import pathlib
import secrets
import sqlite3
import subprocess

from tokens import Keys, canonical, digest

PROGRAM = os.environ["SALES_CONCIERGE"]
AOKI = "slack:T0HINATA:U0AOKI"  # sales, of the department that 0001 belongs to
HARA = "slack:T0HINATA:U0HARA"  # viewer
ISHII = "slack:T0HINATA:U0ISHII"  # no longer active


def sample_data(folder: pathlib.Path) -> Keys:
    """Runs the playground until it is ready, which makes the records and the keys."""
    command = [PROGRAM, "playground", "--port", "0", "--data-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as playground:
        try:
            for line in playground.stdout:
                if line.startswith("ready "):
                    break
            else:
                raise SystemExit("the playground did not start; run it by hand to see why")
        finally:
            playground.terminate()
    return Keys(folder)


def environment(keys: Keys) -> dict:
    return {
        "SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS": keys.public("caller"),
        "SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS": keys.public("approval"),
        "SALES_CONCIERGE__SALES_SERVER__REQUESTS_PER_SECOND": "10000",
    }


@contextlib.contextmanager
def over_http(folder: pathlib.Path, keys: Keys, **settings):
    """The address of a server over HTTP."""
    command = [PROGRAM, "sales-server", "--transport", "http", "--listen", "127.0.0.1:0", "--data-dir", str(folder)]
    env = environment(keys) | settings
    with open(folder / "http.log", "a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=env, text=True)
    try:
        for line in process.stdout:
            if line.startswith("ready "):
                yield line.split()[1]
                break
        else:
            raise SystemExit(f"the server did not start; see {folder}/http.log")
    finally:
        process.terminate()
        process.wait(timeout=15)
        process.stdout.close()


def claimed_proposal(folder: pathlib.Path, write: dict) -> str:
    """What a pressed card leaves in the records."""
    proposal = secrets.token_hex(16)
    team, user = AOKI.split(":")[1:]
    with contextlib.closing(sqlite3.connect(folder / "records.sqlite", timeout=10)) as db, db:
        db.execute(
            "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team,"
            " requester_user, lang, tool, write, digest, state, created_at, expires_at, claim_click, decided_team,"
            " decided_user) VALUES (?, ?, 0, 0, ?, ?, 'C1', '1.0', ?, ?, 'ja', ?, ?, ?, 'claimed', 0, 0, 'click', ?, ?)",
            (proposal, proposal, proposal, team, team, user, write["tool"], canonical(write), digest(write), team, user),
        )
    return proposal
