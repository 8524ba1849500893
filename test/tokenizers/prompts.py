"""Counts prompts with the Hugging Face library. Exit code 1: one has another length than was drawn.

Usage: prompts.py TOKENIZER PROMPTS, a tokenizer.json and lines {"tokens": N, "text": "…"}
"""

import json
import statistics
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as f:
    prompts = [json.loads(line) for line in f]
lengths, wrong = [], []
for i in range(0, len(prompts), 500):
    part = prompts[i : i + 500]
    for prompt, encoding in zip(part, tokenizer.encode_batch_fast([p["text"] for p in part], add_special_tokens=False), strict=True):
        lengths.append(len(encoding.ids))
        if len(encoding.ids) != prompt["tokens"]:
            wrong.append((prompt["tokens"], len(encoding.ids)))
texts = len({p["text"] for p in prompts})
print(f"  the library: {len(lengths)} prompts of {statistics.mean(lengths):.1f} ± {statistics.stdev(lengths):.1f} tokens, {texts} different ones, {len(wrong)} not as drawn", *wrong[:3])
sys.exit(1 if wrong else 0)
