package tokenizer

// decoded returns the text of ids of a tokenizer that writes bytes as characters, which shows that Encode lost nothing.
// A token with a character outside the alphabet is its own text.
func decoded(tok *Tokenizer, ids []uint32) string {
	var text []byte
	for _, id := range ids {
		token, _ := tok.Token(id)
		if raw, ok := fromByteChars(token); ok {
			token = raw
		}
		text = append(text, token...)
	}
	return string(text)
}

// ofBytes reports whether decoded returns the texts that a tokenizer encodes.
func ofBytes(tok *Tokenizer) bool {
	b, ok := tok.model.(*bpe)
	return ok && b.raw && tok.normalizer == nil
}
