"""Runs the argument parser and the input code of GenAI-Perf's releases on the
command lines of cases.txt, and writes what they make of them, one JSON object
a line: the perf_analyzer command and the requests of its input file, or the
error. What pictures and sounds hold is replaced by IMAGE and SOUND.

    python3 generate.py cases.txt 24.03=DIR 24.04=DIR latest=DIR >golden.jsonl

Each DIR holds the genai_perf package of a release: client 904c1110 (24.03) and
90e71645 (24.04), perf_analyzer 263c5f6e (latest). Prompts are replaced by the
text PROMPT, tokenizers and perf_analyzer by stand-ins; nothing else is. Needs
orjson, numpy, jinja2, pyyaml, pillow, requests, rich, pandas, tqdm, psutil and
soundfile.
"""

import contextlib
import glob
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types
from unittest import mock

PROMPT = "PROMPT"


class Stop(BaseException):
    """Ends the tool where it would start perf_analyzer."""


class Words:
    """A tokenizer: one token a word."""

    eos_token_id = 2
    bos_token_id = 1

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        return cls()

    def encode(self, text, **kwargs):
        return [len(w) for w in text.split()]

    def decode(self, ids, **kwargs):
        return " ".join(PROMPT for _ in ids)

    def __call__(self, text, **kwargs):
        return {"input_ids": self.encode(text)}


def stand_ins():
    """Modules that the tool imports and the cases do not need."""
    transformers = types.ModuleType("transformers")
    transformers.__path__ = []
    transformers.__getattr__ = lambda name: Words  # whatever class of tokenizer
    transformers.logging = types.SimpleNamespace(set_verbosity_error=lambda: None)
    sys.modules["transformers"] = transformers
    sys.modules["transformers.tokenization_utils_base"] = types.SimpleNamespace(BatchEncoding=dict)
    for name in ("plotly", "plotly.graph_objects", "plotly.express", "plotly.subplots"):
        sys.modules[name] = mock.MagicMock()


def prompts_are_fixed(release):
    """Replaces what makes prompts."""
    if release in ("24.03", "24.04"):
        from genai_perf.llm_inputs import synthetic_prompt_generator as g

        fixed = (PROMPT, 1) if release == "24.03" else PROMPT
    else:
        from genai_perf.inputs.retrievers import synthetic_prompt_generator as g

        fixed = PROMPT
    g.SyntheticPromptGenerator.create_synthetic_prompt = classmethod(lambda *a, **k: fixed)


def run(release, args):
    """Returns what the tool makes of a command line, in the working directory."""
    sys.argv = ["genai-perf"] + args
    command = []

    def perf_analyzer(cmd, *a, **k):
        command.extend(shlex.split(cmd) if isinstance(cmd, str) else cmd)
        raise Stop

    errors = io.StringIO()
    result = {"release": release, "args": args}
    with mock.patch.object(subprocess, "run", perf_analyzer), mock.patch.object(
        subprocess, "Popen", perf_analyzer
    ), contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            stand_ins()
            prompts_are_fixed(release)
            from genai_perf import main

            main.run()
        except Stop:
            inputs = glob.glob("**/*inputs.json", recursive=True)
            with open(inputs[0]) as f:
                text = re.sub(r"(data:image/\w+;base64,)[^\")]*", r"\1IMAGE", f.read())
            data = json.loads(re.sub(r'("data": )"[A-Za-z0-9+/=]{200,}"', r'\1"SOUND"', text))["data"]
            result["perf_analyzer"] = [a for a in command[1:] if a]
            for record in data:
                if "session_id" in record:
                    record["session_id"] = ["SESSION"]
            result["n"] = len(data)
            result["requests"] = data[:1] if data[0] == data[-1] else data[:2]
            return result
        except SystemExit:
            text = [l for l in errors.getvalue().splitlines() if "error:" in l]
            result["error"] = text[-1].split("error: ", 1)[1] if text else "exit"
            return result
        except Exception as e:
            result["error"] = f"{type(e).__name__}: {e}"
            return result
    result["error"] = "perf_analyzer was not started"
    return result


def main():
    dirs = dict(a.split("=", 1) for a in sys.argv[2:])
    if "PA_CASE" in os.environ:  # one case, in a process of its own
        release, args = json.loads(os.environ["PA_CASE"])
        sys.path.insert(0, os.path.abspath(dirs[release]))
        with tempfile.TemporaryDirectory() as tmp:
            os.chdir(tmp)
            result = run(release, args)
        print(json.dumps(result))
        return
    for line in open(sys.argv[1]):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        release, text = line.split(": ", 1)
        env = dict(os.environ, PA_CASE=json.dumps([release, text.split(" ")]))
        sys.stdout.buffer.write(subprocess.check_output([sys.executable] + sys.argv, env=env))
        sys.stdout.flush()


main()
