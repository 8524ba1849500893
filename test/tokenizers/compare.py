"""Holds pa-analyze tokenize to the Hugging Face library on texts that nobody chose.

Each tokenizer of pkg/tokenizer/testdata and each FILE encodes random texts with
both; the first differences are printed. Exit code 1: there are some.

Usage: compare.py PA_ANALYZE [--seed N] [--texts N] [FILE…]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import zstandard
from tokenizers import Tokenizer

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pkg", "tokenizer", "testdata")
sys.path.insert(0, os.path.join(DATA, "generate"))
from texts import texts  # noqa: E402


def unpack(*path):
    with open(os.path.join(DATA, *path), "rb") as f:
        return json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(f.read()))


def tokenizers(files):
    for row in unpack("conformance.json.zst")["tokenizers"]:
        yield row["name"], json.dumps(row["tokenizer"])
    for row in unpack("vocabularies", "vectors.json.zst")["files"]:
        yield row["name"], json.dumps(row["tokenizer"])
    for path in files:
        with open(path, encoding="utf-8") as f:
            yield path, f.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pa_analyze")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("files", nargs="*")
    args = parser.parse_intermixed_args()
    sample = texts(args.seed, args.texts)
    print(f"{len(sample)} texts, seed {args.seed}")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(json.dumps(t) + "\n" for t in sample)
        for name, described in tokenizers(args.files):
            path = os.path.join(folder, "tokenizer.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(described)
            theirs = Tokenizer.from_file(path)
            out = subprocess.run([args.pa_analyze, "tokenize", "--tokenizer", path, "--jsonl", "--ids"], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
            differ = [t for t, ids in zip(sample, out, strict=True) if json.loads(ids) != theirs.encode(t, add_special_tokens=False).ids]
            print(f"{len(differ):5} differ  {name}", *(repr(t) for t in differ[:3]))
            bad += len(differ)
    print(f"{bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
