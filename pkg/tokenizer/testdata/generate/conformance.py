"""Writes ../conformance.json.zst, the results of the Hugging Face library for the texts.

The file holds the configuration of every component of the library and, for each
text, a digest of the result. It also holds whole tokenizers with small vocabularies,
which this script trains with the library. A digest is the start of a SHA-256, in
hex. It is taken of the normalized text, of the pieces joined by \\0, of ids in
decimal joined by commas, or of the decoded text.

Usage: pip install -r requirements.txt && python conformance.py
"""

import base64
import hashlib
import io
import json
import os
import random

import sentencepiece
import zstandard
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from texts import HAND_WRITTEN, texts, unicode_blocks

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = 8
TEXTS = texts(seed=6, count=420)
BLOCKS = unicode_blocks()
random.seed(6)


def digest(s):
    return hashlib.sha256(s.encode()).hexdigest()[:DIGITS]


def corpus():
    with open(os.path.join(HERE, "..", "..", "builtin", "corpus.txt"), encoding="utf-8") as f:
        lines = f.read().splitlines()[:1500]
    return lines + [t for t in TEXTS if t.isprintable()] * 2


CORPUS = corpus()

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + BLANKS
SMAUG = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS
SHORT = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
SYMBOLS = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + BLANKS
O200K = LEAD + UPPER + "*" + LOWER + "+" + CONTRACTIONS + "?|" + LEAD + UPPER + "+" + LOWER + "*" + CONTRACTIONS + r"?|\p{N}{1,3}" + SYMBOLS
TEKKEN = LEAD + UPPER + "*" + LOWER + "+|" + LEAD + UPPER + "+" + LOWER + r"*|\p{N}" + SYMBOLS
HAN = "[一-龥぀-ゟ゠-ヿ]+"
DEEPSEEK = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def raw_bytes(**kw):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False, **kw)


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


def charsmap(rule):
    """SentencePiece's own table of replacements."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS[:200]), model_writer=model, vocab_size=400, normalization_rule_name=rule, minloglevel=2, hard_vocab_limit=False)
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


NMT_NFKC = charsmap("nmt_nfkc")


def all_normalizers():
    n = normalizers
    yield from (n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.Nmt(), n.ByteLevel())
    yield from (n.Strip(left, right) for left in (True, False) for right in (True, False))
    yield from (n.Prepend("▁"), n.Prepend("ab"), n.Replace(" ", "▁"), n.Replace("ab", ""), n.Replace(Regex(" {2,}"), " "), n.Replace(Regex(r"\s+"), "_"), n.Replace(Regex("[aeiou]"), "<>"), n.Replace(Regex("x*"), "-"))
    for clean in (True, False):
        for chinese in (True, False):
            for accents in (None, True, False):
                for lower in (True, False):
                    yield n.BertNormalizer(clean, chinese, accents, lower)
    yield n.Precompiled(NMT_NFKC)
    yield n.Precompiled(charsmap("nmt_nfkc_cf"))
    yield n.Sequence([])
    yield n.Sequence([n.NFKD(), n.StripAccents(), n.Lowercase(), n.Strip(), n.Replace(" ", "▁")])
    yield n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " "), n.Prepend("▁")])


def all_pre_tokenizers():
    p = pre_tokenizers
    for regex in (True, False):
        for prefix in (True, False):
            yield p.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            yield p.Metaspace("▁", scheme, cut)
    yield p.Metaspace("_", "always", True)
    yield from (p.Whitespace(), p.WhitespaceSplit(), p.BertPreTokenizer(), p.UnicodeScripts(), p.FixedLength(5), p.FixedLength(1))
    yield from (p.CharDelimiterSplit("a"), p.CharDelimiterSplit("é"), p.Digits(False), p.Digits(True))
    yield from (p.Punctuation(b) for b in BEHAVIORS)
    for pattern in (CL100K, QWEN2, QWEN35, SMAUG, SHORT, O200K, TEKKEN, DEEPSEEK, r"\p{N}{1,3}", HAN):
        yield split(pattern)
        yield sequence(split(pattern, "removed", True), raw_bytes())
    for behavior in BEHAVIORS:
        for invert in (False, True):
            yield p.Split(" ", behavior, invert)
            yield split(r"\p{N}+", behavior, invert)
            yield split(r"\p{N}{1,3}", behavior, invert)
    for pattern in (r"\w+", r"\W", r"\b", r"[\w']+|[^\w\s]", r"^.", r".$", "(?i:ab|the)", r"a(?=b)|(?<=a)b|(?<!x)c(?!d)", r"\s?\p{L}+", r"\s?\p{P}+", " ?[^(\\s|.,!?…。，、।۔،)]+", r"(?=[A-Z])", "a*", "[0-9][0-9][0-9]", r"\d+", r"[\p{L}&&[^\p{Han}]]+", r"[一-龥ࠀ-一가-퟿]+", r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", r"a+?|b{2,}", r"(\r\n|\n)+", r"[^\r\n]"):
        yield split(pattern)
        yield split(pattern, "merged_with_previous")
    yield sequence(split(r"\p{N}{1,3}"), split(HAN), split(DEEPSEEK), raw_bytes())
    yield sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), p.Digits(True), raw_bytes())
    yield sequence(p.Digits(True), p.ByteLevel(add_prefix_space=False))
    yield sequence(p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False), p.Digits(False), split("[0-9][0-9][0-9]"))
    yield sequence(p.WhitespaceSplit(), p.Metaspace("▁", "first", True))
    yield sequence(p.WhitespaceSplit(), p.Metaspace("▁", "always", True))
    yield sequence(p.Metaspace("▁", "first", True), p.Digits(True))
    yield sequence(p.Whitespace(), p.Punctuation("isolated"))
    yield sequence()


def all_decoders():
    d = decoders
    yield from (d.ByteLevel(), d.ByteFallback(), d.Fuse(), d.Metaspace(), d.Metaspace("▁", "never"), d.Metaspace("▁", "first"), d.WordPiece(), d.WordPiece("##", False), d.WordPiece("a", True), d.BPEDecoder(), d.BPEDecoder("@@"))
    yield from (d.CTC(), d.CTC("a", " ", False), d.Strip(" ", 1, 0), d.Strip("a", 2, 0), d.Replace("▁", " "), d.Replace(Regex("[ab]"), "-"))
    yield d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    yield d.Sequence([])


DECODER_TOKENS = [
    [], [""], ["a"], ["Hello", ",", "world"], ["▁Hello", "▁world", "!"], ["▁", "▁", "a"], ["ĠHello", "Ċ", "wÃ©", "é", "日"], ["Ã", "©", "Ĥ", "ł"], ["â", "Ģ", "a"],
    ["<0xE4>", "<0xB8>", "<0xAD>"], ["<0xE4>", "<0xB8>", "x"], ["<0x41>", "<0xff>", "<0xZZ>", "<0x4>", "<0x+A>", "<0x 1>"], ["a", "<0x0A>", "b"],
    ["un", "##believ", "##able", "##"], ["do", "not", "do", "n't", "'", "s", " '", ".", "?", "!", ","], ["I", "'m", "'re", "'ve", "'s"],
    ["hel", "lo</w>", "wor", "ld</w>"], ["hel@@", "lo", "a@@"], ["<pad>", "h", "h", "<pad>", "h", "e", "|", "l", "l", "<pad>", "l"], [" a ", "aa", " ", "aaa"], ["aab", "ba", "▁a▁"],
    ["a", "a", "a"], ["  x", " ", "  "], ["##a", "##b"], ["\ufffd", "日本"],
]


def added(*tokens):
    def add(t):
        for a in tokens:
            (t.add_special_tokens if a.special else t.add_tokens)([a])
        return t

    return add


FLAGS = added(
    AddedToken("<SPECIAL>", single_word=True, special=True), AddedToken("[MASK]", lstrip=True, special=True), AddedToken("<L>", lstrip=True, normalized=False), AddedToken("<R>", rstrip=True, normalized=False),
    AddedToken("<B>", lstrip=True, rstrip=True, special=True), AddedToken("word", single_word=True, normalized=True), AddedToken("<LR", normalized=False), AddedToken("Mixed Case Token", normalized=True), AddedToken(" cAsE", normalized=False),
    AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True), AddedToken("  ", normalized=False), AddedToken("camel", normalized=True, rstrip=True), AddedToken("Å", normalized=True), AddedToken("zzz", normalized=False, special=False),
)


def byte_bpe(pre, norm=None, vocab=700, **kw):
    t = Tokenizer(models.BPE(**kw))
    t.pre_tokenizer = pre
    if norm:
        t.normalizer = norm
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"], show_progress=False))
    return t


def spm_bpe(vocab=800, pre=None, norm=None, specials=("<unk>", "<s>", "</s>"), all_bytes=True, drop=(), **kw):
    """Trained as words, then given the byte tokens and the pipeline."""
    t = Tokenizer(models.BPE(unk_token="<unk>", **kw))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always", True)
    special = list(specials) + ([f"<0x{b:02X}>" for b in range(256) if b not in drop] if all_bytes else [])
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=vocab, special_tokens=special, limit_alphabet=90, show_progress=False))
    d = json.loads(t.to_str())
    d["pre_tokenizer"] = json.loads(pre.__getstate__()) if pre else None
    d["normalizer"] = json.loads(norm.__getstate__()) if norm else None
    d["added_tokens"] = [a for a in d["added_tokens"] if a["content"] in specials]
    d["model"].update(kw)
    return Tokenizer.from_str(json.dumps(d))


LLAMA = dict(norm=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))


def with_decoder(t, d):
    t.decoder = d
    return t


def with_template(t, single, pair, *specials):
    t.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(s, t.token_to_id(s)) for s in specials])
    return t


def wordpiece(norm, pre, vocab=600, **kw):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", **kw))
    t.normalizer, t.pre_tokenizer = norm, pre
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=vocab, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=80, show_progress=False))
    t.decoder = decoders.WordPiece()
    return t


def unigram(norm, pre, vocab=600, byte_fallback=False):
    t = Tokenizer(models.Unigram())
    if norm:
        t.normalizer = norm
    if pre:
        t.pre_tokenizer = pre
    special = ["<unk>", "<s>", "</s>"]
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=vocab, special_tokens=special, unk_token="<unk>", show_progress=False))
    t.decoder = decoders.Metaspace()
    if byte_fallback:
        d = json.loads(t.to_str())
        d["model"]["byte_fallback"] = True
        d["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0 - b / 7] for b in range(256)]
        t = Tokenizer.from_str(json.dumps(d))
    return t


def edited(t, **model):
    d = json.loads(t.to_str())
    for k, v in model.items():
        d["model"][k] = v
    return Tokenizer.from_str(json.dumps(d))


def without(t, *tokens):
    """Holes in the vocabulary: tokens and the merges that need them gone."""
    d = json.loads(t.to_str())
    vocab = {k: v for k, v in d["model"]["vocab"].items() if k not in tokens}
    d["model"]["vocab"] = vocab
    d["model"]["merges"] = [m for m in d["model"]["merges"] if all(x in vocab for x in (*m, "".join(m)))]
    return Tokenizer.from_str(json.dumps(d))


def all_tokenizers():
    p, n = pre_tokenizers, normalizers
    gpt2 = byte_bpe(p.ByteLevel(add_prefix_space=False))
    yield "gpt2", gpt2
    yield "gpt2 with a blank in front", byte_bpe(p.ByteLevel(add_prefix_space=True))
    yield "llama 3", with_template(byte_bpe(sequence(split(CL100K), raw_bytes())), "<|endoftext|> $A", "<|endoftext|> $A <|endoftext|> $B", "<|endoftext|>")
    yield "llama 3, ignore_merges", edited(byte_bpe(sequence(split(CL100K), raw_bytes())), ignore_merges=True)
    yield "qwen 2", byte_bpe(sequence(split(QWEN2), raw_bytes()), n.NFC())
    yield "qwen 3.5", byte_bpe(sequence(split(QWEN35), raw_bytes()), n.NFC())
    yield "o200k", byte_bpe(sequence(split(O200K), raw_bytes()))
    yield "tekken", byte_bpe(sequence(split(TEKKEN), raw_bytes()))
    yield "deepseek v3", byte_bpe(sequence(split(r"\p{N}{1,3}"), split(HAN), split(DEEPSEEK), raw_bytes()))
    yield "deepseek coder", byte_bpe(sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), p.Digits(True), raw_bytes()))
    yield "starcoder", byte_bpe(sequence(p.Digits(True), p.ByteLevel(add_prefix_space=False)))
    yield "falcon", byte_bpe(sequence(p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False), p.Digits(False), split("[0-9][0-9][0-9]")))
    yield "bloom", byte_bpe(sequence(split(" ?[^(\\s|.,!?…。，、।۔،)]+"), raw_bytes()))
    yield "bytes, no words", byte_bpe(raw_bytes())
    yield "bytes as a normalizer", byte_bpe(split("[Ġa]+"), n.ByteLevel())
    yield "bytes with holes", without(gpt2, "é", "Ã", "Ġ", "z", "ł", "©")
    yield "bytes with holes and unknown", edited(without(gpt2, "é", "Ã", "Ġ", "z", "ł"), unk_token="a", fuse_unk=False)
    yield "bytes with holes and fused unknown", edited(without(gpt2, "é", "Ã", "Ġ", "z", "ł"), unk_token="a", fuse_unk=True)
    yield "added tokens, bytes", FLAGS(byte_bpe(p.ByteLevel(add_prefix_space=False)))
    yield "added tokens, lower case", FLAGS(byte_bpe(p.ByteLevel(add_prefix_space=False), n.Sequence([n.NFKD(), n.Lowercase()])))
    yield "gpt2 roberta", gpt2_roberta()
    yield "sequence of post-processors", gpt2_sequence()
    yield "llama 2", with_template(with_decoder(spm_bpe(byte_fallback=True, fuse_unk=True, **LLAMA), decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])), "<s> $A", "<s> $A <s> $B", "<s>")
    yield "llama 2 without bytes", spm_bpe(all_bytes=False, fuse_unk=True, **LLAMA)
    yield "llama 2 without bytes, unknowns apart", spm_bpe(all_bytes=False, fuse_unk=False, **LLAMA)
    yield "llama 2 with some bytes", spm_bpe(drop=(0xE4, 0xF0, 0x9F, 0xC3), vocab=900, byte_fallback=True, fuse_unk=True, **LLAMA)
    yield "llama 2 with some bytes, unknowns apart", spm_bpe(drop=(0xE4, 0xF0, 0x9F, 0xC3), vocab=900, byte_fallback=True, fuse_unk=False, **LLAMA)
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            t = FLAGS(spm_bpe(pre=p.Metaspace("▁", scheme, cut), byte_fallback=True, fuse_unk=True))
            yield f"metaspace {scheme} {cut}", with_decoder(t, decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", scheme)]))
    yield "metaspace first after stripping", FLAGS(spm_bpe(pre=p.Metaspace("▁", "first", True), norm=n.Strip(True, True), byte_fallback=True))
    yield "metaspace first after accents", spm_bpe(pre=p.Metaspace("▁", "first", True), norm=n.StripAccents(), byte_fallback=True)
    yield "metaspace first after bert", spm_bpe(pre=p.Metaspace("▁", "first", True), norm=n.BertNormalizer(), byte_fallback=True)
    yield "metaspace first after nmt", spm_bpe(pre=p.Metaspace("▁", "first", True), norm=n.Nmt(), byte_fallback=True)
    yield "gemma", with_decoder(FLAGS(spm_bpe(norm=n.Replace(" ", "▁"), pre=p.Split(" ", "merged_with_previous"), byte_fallback=True, fuse_unk=True)), decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))
    yield "marks inside tokens", glued()
    yield "clip", clip()
    yield "prefix", prefixed()
    yield "bert", with_template(wordpiece(n.BertNormalizer(), p.BertPreTokenizer()), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", "[CLS]", "[SEP]")
    yield "bert cased", bert_cased()
    yield "short words", wordpiece(n.Lowercase(), p.WhitespaceSplit(), max_input_chars_per_word=7)
    yield "added tokens, bert", FLAGS(wordpiece(n.BertNormalizer(), p.BertPreTokenizer()))
    yield "words", wordlevel(p.Whitespace())
    yield "words, blanks", wordlevel(p.Sequence([p.WhitespaceSplit(), p.Punctuation("merged_with_previous")]))
    yield "t5", with_template(unigram(n.Precompiled(NMT_NFKC), sequence(p.WhitespaceSplit(), p.Metaspace("▁", "always", True))), "$A </s>", "$A </s> $B </s>", "</s>")
    yield "xlm-roberta", unigram(n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " ")]), p.Metaspace("▁", "always", True))
    yield "unigram with bytes", with_decoder(unigram(None, p.Metaspace("▁", "always", True), byte_fallback=True), decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]))
    yield "unigram, one piece", unigram(n.Replace(" ", "▁"), None)
    yield "unigram, scripts", unigram(n.NFKC(), sequence(p.UnicodeScripts(), p.Metaspace("▁", "always", True)))
    yield "unigram with ties", ties()


def gpt2_roberta():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.add_special_tokens(["<s>", "</s>"])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def gpt2_sequence():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.add_special_tokens(["<s>"])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<s> $A <s>", pair="<s> $A $B", special_tokens=[("<s>", t.token_to_id("<s>"))])])
    return t


def bert_cased():
    t = wordpiece(normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer())
    t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def glued():
    """Merges that join a letter and the blank after it: words cannot be cut there."""
    t = spm_bpe(byte_fallback=True, **LLAMA)
    d = json.loads(t.to_str())
    vocab = d["model"]["vocab"]
    for a, b in (("e", "▁"), ("s", "▁"), ("e▁", "t"), ("▁", "▁"), ("▁▁", "▁▁")):
        vocab.setdefault(a + b, len(vocab))
        d["model"]["merges"].insert(3, [a, b])
    d["model"]["merges"].sort(key=lambda m: len(m[0] + m[1]))
    return Tokenizer.from_str(json.dumps(d))


def clip():
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = sequence(split(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True), raw_bytes())
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=900, end_of_word_suffix="</w>", initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"], show_progress=False))
    t.decoder = decoders.BPEDecoder("</w>")
    return t


def prefixed():
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=800, continuing_subword_prefix="##", special_tokens=["[UNK]"], limit_alphabet=60, show_progress=False))
    t.decoder = decoders.WordPiece()
    return t


def wordlevel(pre):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.pre_tokenizer = pre
    t.train_from_iterator(CORPUS, trainers.WordLevelTrainer(vocab_size=500, special_tokens=["<unk>"], show_progress=False))
    return t


def ties():
    """Scores that are sums of one another."""
    pieces = [("<unk>", 0.0)] + [(c, -1.5) for c in "abcdefghijklmnopqrstuvwxyz▁"] + [(a + b, -3.0) for a in "aeiost" for b in "nrstlm"] + [(a + b + c, -4.5) for a in "aei" for b in "nrst" for c in "aeis"] + [("the", -4.1000000000000005), ("th", -2.6), ("he", -2.6000000000000001)]
    d = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, "post_processor": None, "decoder": None, "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}}
    return Tokenizer.from_str(json.dumps(d))


def digests(function, items):
    return "".join(digest(function(t)) for t in items)


def main():
    out = {"texts": TEXTS, "digits": DIGITS, "normalizers": [], "pre_tokenizers": [], "decoders": [], "tokenizers": []}
    for n in all_normalizers():
        out["normalizers"].append({"config": json.loads(n.__getstate__()), "texts": digests(n.normalize_str, TEXTS), "blocks": digests(n.normalize_str, BLOCKS)})
    for p in all_pre_tokenizers():
        pieces = lambda t: "\0".join(s for s, _ in p.pre_tokenize_str(t))
        out["pre_tokenizers"].append({"config": json.loads(p.__getstate__()), "texts": digests(pieces, TEXTS), "blocks": digests(pieces, BLOCKS)})
    for d in all_decoders():
        out["decoders"].append({"config": json.loads(d.__getstate__()), "texts": [d.decode(tokens) for tokens in DECODER_TOKENS]})
    out["decoder_tokens"] = DECODER_TOKENS
    for name, t in all_tokenizers():
        # Read back: scores change in the last bit when the library parses them.
        described = json.loads(t.to_str())
        t = Tokenizer.from_str(json.dumps(described))
        ids = lambda text: ",".join(map(str, t.encode(text, add_special_tokens=False).ids))
        special = lambda text: ",".join(map(str, t.encode(text).ids))
        decoded = lambda text: t.decode(t.encode(text).ids, skip_special_tokens=False)
        skipped = lambda text: t.decode(t.encode(text).ids, skip_special_tokens=True)
        row = {"name": name, "tokenizer": described, "ids": digests(ids, TEXTS), "special": digests(special, TEXTS), "decoded": digests(decoded, TEXTS), "skipped": digests(skipped, TEXTS)}
        row["examples"] = [t.encode(text, add_special_tokens=False).ids for text in TEXTS[:60]]
        out["tokenizers"].append(row)
        print(name, t.get_vocab_size())
    data = json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode()
    packed = zstandard.ZstdCompressor(level=19).compress(data)
    with open(os.path.join(HERE, "..", "conformance.json.zst"), "wb") as f:
        f.write(packed)
    print(len(TEXTS), "texts,", len(data), "bytes,", len(packed), "packed")


if __name__ == "__main__":
    main()
