"""Encodes documents with the Hugging Face library on one thread, and prints its pace in CPU time.

Usage: library.py TOKENIZER DOCUMENTS, a tokenizer.json and a file of JSON strings
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402

tokenizer = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as f:
    documents = [json.loads(line) for line in f]
size = sum(len(d.encode()) for d in documents)
best = {}
for _ in range(3):
    for name, encode in (("encode", lambda: [tokenizer.encode(d, add_special_tokens=False) for d in documents]), ("encode_batch_fast", lambda: tokenizer.encode_batch_fast(documents, add_special_tokens=False))):
        start = time.process_time()
        encodings = encode()
        best[name] = max(best.get(name, 0), size / (time.process_time() - start) / 1e6)
print(json.dumps({"tokens": sum(len(e.ids) for e in encodings), "mb_per_s": best}))
