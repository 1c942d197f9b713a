"""The compactor contract around a Python function.

A request is a line on stdin, an answer is a line on stdout. A plain `exec` sends one
request and closes stdin; with `keep_alive` more follow, each with an "id" to repeat.
"""
import argparse
import json
import os
import sys
from importlib.metadata import version


def options(description, keep=None):
    """The flags that every shim has; the caller may add its own before parsing."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL"), help="the model's endpoint, which ends in /v1; default: OPENAI_BASE_URL")
    parser.add_argument("--model", help="the model that summarises; default: the agent's")
    if keep:
        parser.add_argument("--keep", type=int, default=keep, metavar="N", help="how many of the newest messages (or events) to leave as they are; default: %(default)s")
    return parser


def key():
    """The key, which doubletake passes on only where the config lists it under env."""
    return os.environ.get("OPENAI_API_KEY") or "none"


def compacted(request, messages, state=None):
    """An answer of messages; those of the request that stand in it are its very objects."""
    if [m.get("id") for m in messages] == [m["id"] for m in request["messages"]]:
        return {"status": "unchanged", "reason": "the library left the messages as they were"}
    messages = [{k: v for k, v in m.items() if k not in ("turn", "raw")} for m in messages]
    return {"status": "compacted", "messages": messages, "state": state}


def serve(compact, package):
    """Answers every request with what compact makes of it; its exception is a status of error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the library prints goes to stderr: stdout is for answers alone
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer = compact(request)
        except Exception as err:
            answer = {"status": "error", "error": f"{type(err).__name__}: {err}"}
        answer["compactor"] = {"name": package, "version": version(package)}
        if "id" in request:
            answer["id"] = request["id"]
        print(json.dumps(answer), file=answers, flush=True)
