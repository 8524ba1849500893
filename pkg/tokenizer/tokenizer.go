package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"runtime"
	"sync"
)

// A Tokenizer turns text into the ids of its tokens and back. It may be used by
// several goroutines at once.
type Tokenizer struct {
	name  string
	hash  string
	class string // that rebuilt it; "": none did
	notes []string

	added        *addedTokens
	normalizer   normalizer   // nil: none
	preTokenizer preTokenizer // nil: none
	model        model
	cutter       wordCutter // the model, if it can cut pieces; else nil
	post         template
	decoder      decoder // nil: tokens with blanks between them
	asksStart    bool    // some Metaspace asks which piece starts the text

	// settler finds where text can be cut; continuing normalizes what stands
	// behind the cut.
	settler    *settler
	continuing normalizer

	failed *failure // nil: nothing can fail

	seed    maphash.Seed
	words   *wordTable
	maxIdle int

	mu   sync.Mutex
	idle []*encoder
}

// finish prepares what the steps of a tokenizer imply.
func (t *Tokenizer) finish(data []byte) {
	sum := sha256.Sum256(data)
	t.hash = hex.EncodeToString(sum[:])
	t.seed = maphash.MakeSeed()
	pieces, ids := t.model.words()
	t.words = newWordTable(pieces, ids, t.seed)
	if b, ok := t.model.(*bpe); ok && b.mark != 0 {
		t.cutter = b
	}
	t.settler = newSettler(t)
	t.continuing = withoutStart(t.normalizer)
	t.maxIdle = runtime.GOMAXPROCS(0)
}

// Name is what the tokenizer was loaded from: the file as it was named.
func (t *Tokenizer) Name() string { return t.name }

// Hash is the SHA-256 of the file that the tokenizer was read from, in hex.
func (t *Tokenizer) Hash() string { return t.hash }

// Class is the class of transformers 5 that made the tokenizer by rules of its own,
// such as "LlamaTokenizer". It is empty for a tokenizer.json that counts as it is
// written; both readings are then the same.
func (t *Tokenizer) Class() string { return t.class }

// Notes are remarks about the file that a user should see once: what is slower
// than it could be, what the file says and does not mean.
func (t *Tokenizer) Notes() []string { return t.notes }

// Err returns why a text could not be encoded, counted or decoded, and nil as long as
// there was none. It returns the first such error for as long as the Tokenizer lives.
// There are two kinds. A regular expression of the file may take more than a few
// seconds on a text. The file's normalizers or decoders may make a text so long that
// memory would run out: more than 1 MiB, and more than 16 times the text or 256 MiB.
// Do not use the results for that text, nor results of calls that ran at the same time.
func (t *Tokenizer) Err() error {
	if t.failed == nil {
		return nil
	}
	return t.failed.get()
}

// Encode returns the ids of a text, without the special tokens that the model
// expects around it. Special tokens that stand in the text are recognized.
func (t *Tokenizer) Encode(text string) []uint32 {
	return t.AppendEncode(nil, text)
}

// AppendEncode is Encode, appending to dst.
func (t *Tokenizer) AppendEncode(dst []uint32, text string) []uint32 {
	e := t.encoder()
	defer t.release(e)
	return e.encode(dst, text, true)
}

// Count is the number of ids that Encode returns. It allocates nothing for
// most tokenizers.
func (t *Tokenizer) Count(text string) int {
	e := t.encoder()
	defer t.release(e)
	e.out = e.encode(e.out[:0], text, true)
	return len(e.out)
}

// TryCount returns what Count returns, or an error if this text could not be counted.
// Unlike Err, it does not report errors of earlier texts. An error of another call that
// runs at the same time counts as an error of this one.
func (t *Tokenizer) TryCount(text string) (int, error) {
	if t.failed == nil {
		return t.Count(text), nil
	}
	before, _ := t.failed.latest()
	n := t.Count(text)
	if after, err := t.failed.latest(); after != before {
		return 0, err
	}
	return n, nil
}

// AddSpecial returns ids with the special tokens around them that the file's
// post-processor puts around a single text, such as <s> or [CLS] and [SEP].
func (t *Tokenizer) AddSpecial(ids []uint32) []uint32 { return t.post.apply(ids) }

// Decode returns the text of ids. Ids that are no token's are left out, special
// tokens too if skipSpecial. Bytes that make no UTF-8 are replaced by U+FFFD,
// as in the library.
//
// Decoding is no exact reverse of encoding for every tokenizer: a normalizer
// may have lost something, and some decoders strip a blank at the start.
func (t *Tokenizer) Decode(ids []uint32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	v := t.model.vocabulary()
	for _, id := range ids {
		token, ok := "", false
		if a := t.added.byID[id]; a != nil {
			token, ok = a.written, true
		} else {
			token, ok = v.token(id)
		}
		if ok && (!skipSpecial || !t.added.special[token]) {
			tokens = append(tokens, token)
		}
	}
	before := totalLength(tokens)
	text := decodeTokens(t.decoder, tokens, longest(before))
	if len(text) > longest(before)+len(tokens) { // without a decoder there are blanks between them
		t.refuse("decoder", before)
		return ""
	}
	return text
}

// Token returns the token of an id as the file writes it; ok is false if there
// is none.
func (t *Tokenizer) Token(id uint32) (token string, ok bool) {
	if a := t.added.byID[id]; a != nil {
		return a.content, true
	}
	return t.model.vocabulary().token(id)
}

// ID returns the id of a token as the file writes it; ok is false if there is
// none.
func (t *Tokenizer) ID(token string) (id uint32, ok bool) {
	if id, ok = t.added.ids[token]; ok {
		return id, true
	}
	return t.model.vocabulary().id(token)
}
