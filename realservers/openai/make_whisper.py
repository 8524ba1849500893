#!/usr/bin/env python3
"""Write a tiny Whisper model with random weights, as a Hugging Face folder.

    make_whisper.py OUT_DIR

Needs torch and transformers, which vLLM's environment has. The vocabulary is
the one of make_model.py. What the model hears is noise: words for any clip,
the same ones for the same clip. As in make_model.py, dimension 0 carries a
constant in front of the output matrix, so that its column 0 is a bias per token.
"""
import os
import sys

import torch
from transformers import (WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperProcessor,
                          WhisperTokenizer)
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from make_model import make_vocab


def main(out):
    pieces, merges, words, _ = make_vocab(1000)
    specials = ["<|endoftext|>", "<|startoftranscript|>"] + ["<|%s|>" % code for code in LANGUAGES] + [
        "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    times = ["<|%.2f|>" % (i * 0.02) for i in range(1501)]
    tokens = pieces + specials + times
    ident = {t: i for i, t in enumerate(tokens)}
    tokenizer = WhisperTokenizer(vocab={t: i for t, i in ident.items() if i <= ident["<|endoftext|>"]}, merges=merges)
    tokenizer.add_special_tokens({"additional_special_tokens": specials[1:]})
    tokenizer.add_tokens(times)
    assert all(tokenizer.convert_tokens_to_ids(t) == i for t, i in ident.items())

    end, start = ident["<|endoftext|>"], ident["<|startoftranscript|>"]
    config = WhisperConfig(
        vocab_size=len(tokens), num_mel_bins=80, d_model=64, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
        pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=start,
        suppress_tokens=None, begin_suppress_tokens=None)
    torch.manual_seed(7)
    model = WhisperForConditionalGeneration(config)
    with torch.no_grad():
        decoder = model.model.decoder
        decoder.embed_tokens.weight.normal_(0, 0.5)
        decoder.embed_positions.weight.normal_(0, 3)   # so that a word does not call for itself again
        decoder.layer_norm.weight[0] = 0
        decoder.layer_norm.bias[0] = 40
        decoder.embed_tokens.weight[:, 0] = -1
        decoder.embed_tokens.weight[words, 0] = 0
        decoder.embed_tokens.weight[end, 0] = -0.05
    model.generation_config.update(
        lang_to_id={"<|%s|>" % code: ident["<|%s|>" % code] for code in LANGUAGES},
        task_to_id={"transcribe": ident["<|transcribe|>"], "translate": ident["<|translate|>"]},
        no_timestamps_token_id=ident["<|notimestamps|>"], is_multilingual=True)
    os.makedirs(out, exist_ok=True)
    WhisperProcessor(WhisperFeatureExtractor(), tokenizer).save_pretrained(out)
    model.save_pretrained(out)
    print("wrote %s: %d tokens, %.2f M parameters" % (out, len(tokens), sum(p.numel() for p in model.parameters()) / 1e6))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
