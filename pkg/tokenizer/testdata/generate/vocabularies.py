"""Writes ../vocabularies: OpenAI's vocabularies, and the library's results for the texts with them.

NAME.ranks.zst has the tokens in the order of their ranks, each as its length (a
varint) and its bytes. vectors.json.zst has digests like conformance.json.zst.

The vocabularies come from the npm package tiktoken (MIT licence, OpenAI).
Usage: npm install --prefix DIR tiktoken && python vocabularies.py DIR/node_modules/tiktoken/encoders [FILE…]
Each further FILE is a tokenizer.json file to include.
"""

import base64
import json
import os
import sys

import tiktoken
import zstandard
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from conformance import CL100K, DIGITS, O200K, digests
from texts import texts, unicode_blocks

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "vocabularies")
TEXTS = texts(seed=7, count=4000)
BLOCKS = unicode_blocks()


def byte_chars():
    chars, extra = {}, 0
    for b in range(256):
        if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255:
            chars[b] = chr(b)
        else:
            chars[b] = chr(256 + extra)
            extra += 1
    return chars


CHARS = byte_chars()


def written(token):
    return "".join(CHARS[b] for b in token)


def parts(ranks, token, below):
    """The two tokens that token is merged from: its BPE with lower ranks only."""
    p = [bytes([b]) for b in token]
    while True:
        best = min(((ranks.get(p[i] + p[i + 1], below), i) for i in range(len(p) - 1)), default=(below, 0))
        if best[0] >= below:
            return p
        i = best[1]
        p[i : i + 2] = [p[i] + p[i + 1]]


def convert(ranks, pre, ignore_merges):
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda kv: kv[1]):
        if len(token) > 1:
            p = parts(ranks, token, rank)
            if len(p) == 2:
                merges.append((written(p[0]), written(p[1])))
    t = Tokenizer(models.BPE(vocab={written(k): v for k, v in ranks.items()}, merges=merges, ignore_merges=ignore_merges))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    return t


def main(folder, *files):
    os.makedirs(OUT, exist_ok=True)
    split = lambda p: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    out = {"texts": TEXTS, "digits": DIGITS, "encodings": [], "files": []}
    pack = lambda data: zstandard.ZstdCompressor(level=19).compress(data)
    for name, pre, ignore in (("r50k_base", pre_tokenizers.ByteLevel(add_prefix_space=False), False), ("cl100k_base", split(CL100K), True), ("o200k_base", split(O200K), True)):
        with open(os.path.join(folder, name + ".json")) as f:
            described = json.load(f)
        ranks = {}
        for line in described["bpe_ranks"].splitlines():
            _, start, *tokens = line.split(" ")
            for i, token in enumerate(tokens):
                ranks[base64.b64decode(token)] = int(start) + i
        ordered = sorted(ranks, key=ranks.get)
        assert [ranks[t] for t in ordered] == list(range(len(ordered)))
        data = bytearray()
        for token in ordered:
            n = len(token)
            while n >= 0x80:
                data.append(n & 0x7F | 0x80)
                n >>= 7
            data.append(n)
            data += token
        with open(os.path.join(OUT, name + ".ranks.zst"), "wb") as f:
            f.write(pack(bytes(data)))
        t = convert(ranks, pre, ignore)
        ids = lambda text: ",".join(map(str, t.encode(text).ids))
        other = tiktoken.Encoding(name=name, pat_str=described["pat_str"], mergeable_ranks=ranks, special_tokens=described["special_tokens"])
        theirs = lambda text: ",".join(map(str, other.encode(text, allowed_special="all")))
        t.add_special_tokens(["<|endoftext|>"])
        differ = [text for text in TEXTS + BLOCKS if ids(text) != theirs(text) and "<|" not in text]
        print(name, len(differ), "of", len(TEXTS) + len(BLOCKS), "texts are different ids to tiktoken", [d[:20] for d in differ[:3]])
        out["encodings"].append({"name": name, "ignore_merges": ignore, "ids": digests(ids, TEXTS), "blocks": digests(ids, BLOCKS)})
    for path in files:
        t = Tokenizer.from_file(path)
        with open(path, encoding="utf-8") as f:
            described = json.load(f)
        ids = lambda text: ",".join(map(str, t.encode(text, add_special_tokens=False).ids))
        special = lambda text: ",".join(map(str, t.encode(text).ids))
        decoded = lambda text: t.decode(t.encode(text, add_special_tokens=False).ids, skip_special_tokens=False)
        out["files"].append({"name": os.path.basename(os.path.dirname(path)), "tokenizer": described, "ids": digests(ids, TEXTS), "blocks": digests(ids, BLOCKS), "special": digests(special, TEXTS), "decoded": digests(decoded, TEXTS)})
    data = json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode()
    with open(os.path.join(OUT, "vectors.json.zst"), "wb") as f:
        f.write(pack(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
