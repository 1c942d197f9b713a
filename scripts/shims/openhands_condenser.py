"""OpenHands' LLMSummarizingCondenser as a compactor of doubletake."""
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no download at the start

import contract
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, CondensationSummaryEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.event.condenser import Condensation, CondensationRequest
from openhands.sdk.llm import LLM, Message, MessageToolCall, TextContent
from openhands.sdk.tool.schema import Observation

parser = contract.options(__doc__, keep=35)
parser.add_argument("--keep-first", type=int, default=4, metavar="N", help="how many of the first events, the system prompt among them, are never forgotten; default: %(default)s")
opt = parser.parse_args()


class Result(Observation):
    """What a recorded tool call gave."""


def events(m, summaries, calls):
    """The events of a message. Their ids begin with its own."""
    text = [TextContent(text=m["content"])]
    if m["content"] in summaries:
        return [CondensationSummaryEvent(id=m["id"], summary=m["content"])]
    if m["role"] == "tool":
        name, action = calls[m["tool_call_id"]]
        return [ObservationEvent(id=m["id"], tool_name=name, tool_call_id=m["tool_call_id"], action_id=action, observation=Result(content=text))]
    if not m.get("tool_calls"):
        return [MessageEvent(id=m["id"], source="user" if m["role"] == "user" else "agent", llm_message=Message(role=m["role"], content=text))]
    made = []
    for c in m["tool_calls"]:
        call = MessageToolCall(id=c["id"], name=c["name"], arguments=contract.json.dumps(c["arguments"]), origin="completion")
        made.append(ActionEvent(id=f"{m['id']}/{len(made)}", thought=[] if made else text, tool_name=c["name"], tool_call_id=c["id"], tool_call=call, llm_response_id=m["id"]))
        calls[c["id"]] = (c["name"], made[-1].id)
    return made


def compact(request):
    llm = LLM(model="openai/" + (opt.model or request["model"]), base_url=opt.base_url, api_key=contract.key(), temperature=0, seed=7, num_retries=2, retry_min_wait=1, retry_max_wait=4)
    condenser = LLMSummarizingCondenser(llm=llm, max_size=2 * (opt.keep + opt.keep_first + 1), keep_first=opt.keep_first)
    summaries, calls = (request["prior_state"] or {}).get("summaries", []), {}
    history = [SystemPromptEvent(id="system", system_prompt=TextContent(text=request["system"]), tools=[])]
    for m in request["messages"]:
        history += events(m, summaries, calls)
    result = condenser.condense(View.from_events([*history, CondensationRequest()]))  # doubletake says when
    if not isinstance(result, Condensation):
        return contract.compacted(request, request["messages"])
    by_id, out = {m["id"]: m for m in request["messages"]}, {}
    forgotten = {id.split("/")[0] for id in result.forgotten_event_ids}
    for e in result.apply(history)[1:]:
        id = e.id.split("/")[0]
        out[id] = by_id.get(id) or {"role": "user", "kind": "summary", "content": e.summary, "source_ids": sorted(forgotten)}
    return contract.compacted(request, list(out.values()), {"summaries": [*summaries, result.summary]})


contract.serve(compact, "openhands-sdk")
