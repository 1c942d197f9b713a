"""The compact of Inspect's compaction strategies as a compactor of doubletake."""
import asyncio

import contract
from inspect_ai.model import (ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser,
                              CompactionEdit, CompactionSummary, CompactionTrim, GenerateConfig, get_model)
from inspect_ai.tool import ToolCall

STRATEGIES = {"summary": CompactionSummary, "edit": CompactionEdit, "trim": CompactionTrim}
parser = contract.options(__doc__)
parser.add_argument("--strategy", choices=STRATEGIES, default="summary", help="default: %(default)s")
opt = parser.parse_args()


def message(m, summaries):
    if m["role"] == "user":
        return ChatMessageUser(id=m["id"], content=m["content"], metadata={"summary": True} if m["content"] in summaries else None)
    if m["role"] == "tool":
        return ChatMessageTool(id=m["id"], content=m["content"], tool_call_id=m["tool_call_id"])
    calls = [ToolCall(id=c["id"], function=c["name"], arguments=c["arguments"]) for c in m.get("tool_calls", [])]
    return ChatMessageAssistant(id=m["id"], content=m["content"], tool_calls=calls or None)


def new(m, sources):
    """A message that is none of the request's: the summary, or one that was edited."""
    calls = [{"id": c.id, "name": c.function, "arguments": c.arguments} for c in getattr(m, "tool_calls", None) or []]
    return {"role": m.role, "content": m.text, "tool_calls": calls, "tool_call_id": getattr(m, "tool_call_id", None) or "", "kind": "summary", "source_ids": sources}


def compact(request):
    model = get_model("openai-api/local/" + (opt.model or request["model"]), base_url=opt.base_url, api_key=contract.key(),
                      config=GenerateConfig(temperature=0, seed=7, max_retries=3))
    summaries = (request["prior_state"] or {}).get("summaries", [])
    messages = [ChatMessageSystem(content=request["system"])] + [message(m, summaries) for m in request["messages"]]
    left, summary = asyncio.run(STRATEGIES[opt.strategy]().compact(model, messages, []))
    kept = {m["id"]: m for m in request["messages"]}
    gone = sorted(kept.keys() - {m.id for m in left}) if summary else []  # edit and trim show nothing to a summariser
    out = [kept.get(m.id) or new(m, gone) for m in left if m.role != "system"]
    return contract.compacted(request, out, {"summaries": [*summaries, summary.text] if summary else summaries})


contract.serve(compact, "inspect-ai")
