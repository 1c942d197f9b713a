"""LangChain's SummarizationMiddleware as a compactor of doubletake."""
import contract
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

opt = contract.options(__doc__, keep=20).parse_args()


class Middleware(SummarizationMiddleware):
    """The real one; it notes which messages its summariser sees, since it trims them first."""

    def _trim_messages_for_summary(self, messages):
        trimmed = super()._trim_messages_for_summary(messages)
        self.seen = [m.id for m in trimmed]
        return trimmed


def message(m):
    if m["role"] == "user":
        return HumanMessage(m["content"], id=m["id"])
    if m["role"] == "tool":
        return ToolMessage(m["content"], id=m["id"], tool_call_id=m["tool_call_id"])
    calls = [{"id": c["id"], "name": c["name"], "args": c["arguments"]} for c in m.get("tool_calls", [])]
    return AIMessage(m["content"], id=m["id"], tool_calls=calls)


def compact(request):
    model = ChatOpenAI(model=opt.model or request["model"], base_url=opt.base_url, api_key=contract.key(), temperature=0, seed=7)
    middleware = Middleware(model, trigger=("messages", 1), keep=("messages", opt.keep))  # doubletake says when
    update = middleware.before_model({"messages": [message(m) for m in request["messages"]]}, None)
    if update is None:
        return contract.compacted(request, request["messages"])
    kept = {m["id"]: m for m in request["messages"]}
    _, *messages = update["messages"]  # the first one says to remove all that was there
    return contract.compacted(request, [
        kept.get(m.id) or {"role": "user", "kind": "summary", "content": m.content, "source_ids": middleware.seen}
        for m in messages])


contract.serve(compact, "langchain")
