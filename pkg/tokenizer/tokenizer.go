package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"runtime"
	"sync"
)

// A Tokenizer turns text into token ids. It is safe for concurrent use.
type Tokenizer struct {
	name  string
	hash  string
	class string // class of transformers 5 that replaced components; "" for none
	notes []string

	added        *addedTokens
	normalizer   normalizer   // nil for none
	preTokenizer preTokenizer // nil for none
	model        model
	cutter       *bpe // the model if it can cut pieces, else nil
	post         template
	needsStart   bool // some Metaspace needs to know which piece starts the text

	failed *failure // nil if no text can fail

	seed    maphash.Seed
	words   *wordTable
	maxIdle int

	mu   sync.Mutex
	idle []*encoder
}

// finish computes what follows from the components: hash and word table.
func (t *Tokenizer) finish(data []byte) {
	sum := sha256.Sum256(data)
	t.hash = hex.EncodeToString(sum[:])
	t.seed = maphash.MakeSeed()
	pieces, ids := t.model.words()
	t.words = newWordTable(pieces, ids, t.seed)
	if b, ok := t.model.(*bpe); ok && b.mark != 0 {
		t.cutter = b
	}
	t.maxIdle = runtime.GOMAXPROCS(0)
}

// Name returns the name of the file that the tokenizer was read from.
func (t *Tokenizer) Name() string { return t.name }

// Hash returns the SHA-256 of that file in hexadecimal.
func (t *Tokenizer) Hash() string { return t.hash }

// Class returns the class of transformers 5 that replaced components of the file, such
// as "LlamaTokenizer". It is empty if the file is used unchanged; both readings are then
// the same.
func (t *Tokenizer) Class() string { return t.class }

// Notes returns remarks about the file that a user should see once, such as slow regular
// expressions and ids that have no effect.
func (t *Tokenizer) Notes() []string { return t.notes }

// Err returns the first error of encoding or counting since the tokenizer was
// loaded, or nil. It reports a regular expression of the file that takes too long. It also
// reports normalizers that make a text so long that memory could run out:
// more than 1 MiB, and more than 16 times the text or 256 MiB. The results for that text,
// and of calls that ran at the same time, are invalid.
func (t *Tokenizer) Err() error {
	if t.failed == nil {
		return nil
	}
	return t.failed.get()
}

// Encode returns the ids of a text, without the special tokens that the model expects
// around it. It recognizes special tokens within the text.
func (t *Tokenizer) Encode(text string) []uint32 {
	return t.AppendEncode(nil, text)
}

// AppendEncode appends the ids of a text to dst; see Encode.
func (t *Tokenizer) AppendEncode(dst []uint32, text string) []uint32 {
	e := t.encoder()
	defer t.release(e)
	return e.encode(dst, text)
}

// Count returns the number of ids that Encode returns. With most tokenizers it does not
// allocate.
func (t *Tokenizer) Count(text string) int {
	e := t.encoder()
	defer t.release(e)
	e.out = e.encode(e.out[:0], text)
	return len(e.out)
}

// TryCount counts like Count, and returns an error if this text could not be counted.
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

// TryEncode appends the ids of a text to dst, and returns an error if this text could not be encoded; see TryCount.
func (t *Tokenizer) TryEncode(dst []uint32, text string) ([]uint32, error) {
	if t.failed == nil {
		return t.AppendEncode(dst, text), nil
	}
	before, _ := t.failed.latest()
	all := t.AppendEncode(dst, text)
	if after, err := t.failed.latest(); after != before {
		return dst, err
	}
	return all, nil
}

// AddSpecial returns ids with the special tokens of the file's post-processor for a
// single text around them, such as <s>, or [CLS] and [SEP].
func (t *Tokenizer) AddSpecial(ids []uint32) []uint32 { return t.post.apply(ids) }

// Token returns the token of an id in the spelling of the file. ok is false if there is
// none.
func (t *Tokenizer) Token(id uint32) (token string, ok bool) {
	if a := t.added.byID[id]; a != nil {
		return a.content, true
	}
	return t.model.vocabulary().token(id)
}

// Ordinary returns the ids of the vocabulary that are no added tokens, such as <s>, in order.
func (t *Tokenizer) Ordinary() (ids []uint32) {
	for id, present := range t.model.vocabulary().present {
		if id := uint32(id); present && t.added.byID[id] == nil { //nolint:gosec // ids have 32 bits
			ids = append(ids, id)
		}
	}
	return ids
}

// ID returns the id of a token in the spelling of the file. ok is false if there is
// none.
func (t *Tokenizer) ID(token string) (id uint32, ok bool) {
	if id, ok = t.added.ids[token]; ok {
		return id, true
	}
	return t.model.vocabulary().id(token)
}
