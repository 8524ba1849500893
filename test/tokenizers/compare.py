"""Holds pa-analyze tokenize to the Hugging Face libraries on texts that nobody chose.

Each tokenizer of pkg/tokenizer/testdata and each FILE encodes random texts with the
tokenizers library and with pa-analyze. Each FOLDER of a model, and each case of
pkg/tokenizer/testdata/generate/readings.py, does so with AutoTokenizer of the
transformers release that is installed, 4 or 5, and with the reading of pa-analyze of
that name. The first differences are printed. Exit code 1: there are some.

Usage: compare.py PA_ANALYZE [--seed N] [--texts N] [FILE|FOLDER…]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"

import transformers
import zstandard
from tokenizers import Tokenizer

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pkg", "tokenizer", "testdata")
sys.path.insert(0, os.path.join(DATA, "generate"))
from readings import CASES, place  # noqa: E402
from texts import texts  # noqa: E402

RELEASE = int(transformers.__version__.split(".")[0])


def unpack(*path):
    with open(os.path.join(DATA, *path), "rb") as f:
        return json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(f.read()))


def tokenizers(files):
    for row in unpack("conformance.json.zst")["tokenizers"]:
        yield row["name"], json.dumps(row["tokenizer"])
    for row in unpack("vocabularies", "vectors.json.zst")["files"]:
        yield row["name"], json.dumps(row["tokenizer"])
    for path in files:
        if not os.path.isdir(path):
            with open(path, encoding="utf-8") as f:
                yield path, f.read()


def folders(files, under):
    for path in files:
        if os.path.isdir(path):
            yield path, path
    for i, c in enumerate(CASES):
        # With add_prefix_space transformers 4 converts a LlamaTokenizer from the
        # SentencePiece file, which is not here. It adds special tokens that only
        # tokenizer_config.json names; our reading keeps to tokenizer.json.
        if RELEASE >= 5 or not {"add_prefix_space", "additional_special_tokens"} & set(c["config"]):
            yield "case " + c["name"], place(c, os.path.join(under, str(i)))


def compare(name, pa_analyze, sample, lines, path, encode, *flags):
    out = subprocess.run([pa_analyze, "tokenize", "--tokenizer", path, "--jsonl", "--ids", *flags], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    differ = [t for t, ids in zip(sample, out, strict=True) if json.loads(ids) != encode(t)]
    print(f"{len(differ):5} differ  {name}", *(repr(t) for t in differ[:3]))
    return len(differ)


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
            bad += compare(name, args.pa_analyze, sample, lines, path, lambda t: theirs.encode(t, add_special_tokens=False).ids)
        reading = f"transformers-{RELEASE}"
        print(f"as {reading}: transformers {transformers.__version__}")
        for name, path in folders(args.files, folder):
            try:
                auto = transformers.AutoTokenizer.from_pretrained(path)
            except (ValueError, KeyError) as e:  # a class or kind of model that this release does not know
                print(f"  n/a         {name}: {str(e).splitlines()[0]}")
                continue
            bad += compare(name, args.pa_analyze, sample, lines, path, lambda t: auto.encode(t, add_special_tokens=False), "--as", reading)
    print(f"{bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
