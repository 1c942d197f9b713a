"""llama-cpp-python's OpenAI-compatible server with a bound on every answer.

Its own default for max_tokens is the rest of the context, and a small model that falls
into a loop fills that. It prints the address that it listens on.
"""
import argparse

import uvicorn
from llama_cpp.server import app, types
from llama_cpp.server.settings import ModelSettings, ServerSettings

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("model")
parser.add_argument("--alias", required=True)
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--context", type=int, default=4096)
parser.add_argument("--answer", type=int, default=160, help="tokens that an answer may have where the request sets no bound")
parser.add_argument("--threads", type=int, default=2)
opt = parser.parse_args()

types.CreateChatCompletionRequest.model_fields["max_tokens"].default = opt.answer
types.CreateChatCompletionRequest.model_rebuild(force=True)
settings = ServerSettings(host="127.0.0.1", port=opt.port)
models = [ModelSettings(model=opt.model, model_alias=opt.alias, n_ctx=opt.context, n_threads=opt.threads, n_threads_batch=opt.threads)]
uvicorn.run(app.create_app(server_settings=settings, model_settings=models), host="127.0.0.1", port=opt.port, log_level="info", access_log=False)
