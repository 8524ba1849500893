"""Writes ../readings.json.zst, the results of transformers 5 for the files of tokenizers.

A case is a tokenizer.json of testdata/tokenizers with a tokenizer_config.json and a
config.json of its own. For each case the file holds a digest of the ids of every
text, of the ids with the special tokens around them, and of the decoded text. All
digests of a case are joined into one string.

Usage: pip install transformers==5.23.0 zstandard && python readings.py
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"

from texts import texts  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENIZERS = os.path.join(HERE, "..", "..", "..", "..", "testdata", "tokenizers")
DIGITS = 6
LLAMA, BYTES = "tok-llama", "tok-bytebpe"
PLACE = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": True, "special": False}


def case(name, tokenizer, config, model=None):
    return {"name": name, "tokenizer": tokenizer, "config": config, "model": model}


def llama(**more):
    return {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", **more}


CASES = [
    # what legacy and add_prefix_space mean
    case("llama", LLAMA, llama()),
    case("llama, fast", LLAMA, llama(tokenizer_class="LlamaTokenizerFast")),
    case("llama, legacy false", LLAMA, llama(legacy=False)),
    case("llama, legacy true", LLAMA, llama(legacy=True)),
    case("llama, legacy null", LLAMA, llama(legacy=None)),
    case("llama, no prefix", LLAMA, llama(add_prefix_space=False)),
    case("llama, no prefix, legacy", LLAMA, llama(add_prefix_space=False, legacy=True)),
    case("llama, prefix, legacy", LLAMA, llama(add_prefix_space=True, legacy=True)),
    case("llama, prefix null", LLAMA, llama(add_prefix_space=None)),
    case("llama, BOS and EOS asked for", LLAMA, llama(add_bos_token=True, add_eos_token=True)),
    # which kinds of models are read how
    case("llama model", LLAMA, llama(), {"model_type": "llama"}),
    case("mistral model", LLAMA, llama(), {"model_type": "mistral"}),
    case("phi3 model", LLAMA, llama(), {"model_type": "phi3"}),
    case("gemma model that says llama", LLAMA, llama(), {"model_type": "gemma2"}),
    case("gemma model without a class", LLAMA, {"unk_token": "<unk>"}, {"model_type": "gemma2"}),
    case("llama model without a class", LLAMA, {}, {"model_type": "llama"}),
    case("class in the model's file", LLAMA, {}, {"model_type": "llama", "tokenizer_class": "LlamaTokenizer"}),
    case("llama over bytes", BYTES, llama(bos_token="<|endoftext|>", eos_token="<|endoftext|>", unk_token="<|endoftext|>")),
    case("generic class", LLAMA, llama(tokenizer_class="PreTrainedTokenizerFast")),
    case("unknown class", LLAMA, llama(tokenizer_class="ClaudeTokenizer")),
    # added tokens
    case("llama, tokens without an id", LLAMA, llama(pad_token="<pad>", additional_special_tokens=["word", "<SPECIAL>"])),
    case("llama, tokens with an id", LLAMA, llama(added_tokens_decoder={
        "0": {**PLACE, "content": "<unk>", "normalized": False, "special": True},
        "1": {**PLACE, "content": "<s>", "normalized": False, "special": True},
        "2": {**PLACE, "content": "</s>", "normalized": False, "special": True},
        "5000": {**PLACE, "content": "[MASK]", "lstrip": True, "special": True, "normalized": False},
        "5001": {**PLACE, "content": "the of"},
    })),
    case("llama, token of the model", LLAMA, llama(image_token="[MASK]", pad_token={"__type": "AddedToken", "content": "</s>", **PLACE})),
    # other classes
    case("code llama", LLAMA, llama(tokenizer_class="CodeLlamaTokenizer")),
    case("code llama, no prefix", LLAMA, llama(tokenizer_class="CodeLlamaTokenizerFast", add_prefix_space=False)),
    case("gemma", LLAMA, {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}),
    case("gpt2", BYTES, {"tokenizer_class": "GPT2Tokenizer"}),
    case("gpt2, prefix", BYTES, {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True}),
    case("codegen", BYTES, {"tokenizer_class": "CodeGenTokenizer"}),
    case("gpt-neox", BYTES, {"tokenizer_class": "GPTNeoXTokenizer"}),
    case("gpt-neox, prefix", BYTES, {"tokenizer_class": "GPTNeoXTokenizer", "add_prefix_space": True, "add_bos_token": True}),
    case("cohere", BYTES, {"tokenizer_class": "CohereTokenizer"}),
    case("cohere, prefix", BYTES, {"tokenizer_class": "CohereTokenizerFast", "add_prefix_space": True}),
    case("qwen2", BYTES, {"tokenizer_class": "Qwen2Tokenizer"}),
    case("qwen2 model that says gpt2", BYTES, {"tokenizer_class": "GPT2Tokenizer"}, {"model_type": "qwen2"}),
    case("qwen2, prefix", BYTES, {"tokenizer_class": "Qwen2TokenizerFast", "add_prefix_space": True, "pad_token": None}),
    case("qwen3.5", BYTES, {"tokenizer_class": "Qwen3_5Tokenizer"}, {"model_type": "qwen3_5"}),
]


def place(c, folder):
    """Writes the files of a case."""
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(TOKENIZERS, c["tokenizer"], "tokenizer.json"), folder)
    for name, content in (("tokenizer_config.json", c["config"]), ("config.json", c["model"])):
        if content is not None:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                json.dump(content, f)
    return folder


def digest(s):
    return hashlib.sha256(s.encode()).hexdigest()[:DIGITS]


def numbers(ids):
    return ",".join(map(str, ids))


def main():
    import transformers
    import zstandard

    sample = texts(seed=13, count=120)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for i, c in enumerate(CASES):
            theirs = transformers.AutoTokenizer.from_pretrained(place(c, os.path.join(folder, str(i))))
            row = dict(c, **{"class": type(theirs).__name__, "ids": "", "special": "", "decoded": ""})
            for t in sample:
                ids = theirs.encode(t, add_special_tokens=False)
                row["ids"] += digest(numbers(ids))
                row["special"] += digest(numbers(theirs.encode(t)))
                row["decoded"] += digest(theirs.decode(ids, clean_up_tokenization_spaces=False))
            rows.append(row)
            print(c["name"], row["class"])
    out = {"transformers": transformers.__version__, "digits": DIGITS, "texts": sample, "cases": rows}
    packed = zstandard.ZstdCompressor(level=19).compress(json.dumps(out, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    with open(os.path.join(HERE, "..", "readings.json.zst"), "wb") as f:
        f.write(packed)
    print(len(packed), "bytes")


if __name__ == "__main__":
    sys.exit(main())
