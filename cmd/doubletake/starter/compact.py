#!/usr/bin/env python3
"""A compactor that doubletake can run: put your own in the place of shorten.

It reads one JSON object on stdin and prints one on stdout; logs belong on stderr.
It needs nothing but Python.
"""

import json
import sys


def size(message):
    """About how many tokens a message has."""
    calls = message.get("tool_calls") or []
    return 4 + (len(message.get("content") or "") + len(json.dumps(calls))) // 4


def shorten(messages, budget):
    """Keeps the user's first message and the newest messages that fit the budget.

    Returns the kept messages, or None where there is nothing to leave out. What stands
    between the two is lost: a promise, a branch, a question. That is what a summary is
    for, and what doubletake looks for.
    """
    first = next((i for i, m in enumerate(messages) if m["role"] == "user"), -1)
    head = messages[first : first + 1] if first >= 0 else []
    room = budget - sum(size(m) for m in head) - 40
    start, used = None, 0
    for i in range(len(messages) - 1, first, -1):
        used += size(messages[i])
        if used > room and start is not None:
            break
        if messages[i]["role"] != "tool":  # a result never stands without its call
            start = i
    if start is None:
        return None
    left_out = messages[: max(first, 0)] + messages[first + 1 : start]
    if all(m["role"] == "user" and m["content"].startswith(NOTE) for m in left_out):
        return None
    note = {"role": "user", "kind": "summary", "content": NOTE, "source_ids": [m["id"] for m in left_out]}
    calls = {c["id"] for m in left_out for c in m.get("tool_calls") or []}
    return head + [note] + [m for m in messages[start:] if m.get("tool_call_id") not in calls]


NOTE = "[Earlier messages were left out here.]"


def main():
    request = json.load(sys.stdin)
    kept = shorten(request["messages"], request["budget_tokens"])
    if kept is None:
        answer = {"status": "unchanged", "reason": "there is nothing to leave out"}
    else:
        answer = {"status": "compacted", "messages": kept}
    answer["compactor"] = {"name": "compact.py", "version": "1"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
