package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// A tokenCounter is the tokenizer of a run, loaded when it is needed for the first
// time.
type tokenCounter struct {
	ctx    context.Context // of the run's preparations
	s      *settings
	getenv func(string) string

	made atomic.Int64 // texts made for entries of files

	mu    sync.Mutex // guards the fields below: requests of several sessions are made at a time
	tok   *tokenizer.Tokenizer
	texts *synth.Texts
	err   error // of count
}

// load returns the named tokenizer, else the default one. If that is missing or not set it
// returns the built-in tokenizer, with a warning or a note.
func (t *tokenCounter) load() (*tokenizer.Tokenizer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loadLocked()
}

// loadLocked is load with t.mu held.
func (t *tokenCounter) loadLocked() (*tokenizer.Tokenizer, error) {
	if t.tok != nil {
		return t.tok, nil
	}
	var err error
	switch {
	case t.s.Tokenizer != "":
		t.tok, err = t.find(t.s.Tokenizer)
		if err != nil {
			return nil, fmt.Errorf("--tokenizer: %w; --tokenizer built-in needs no file", err)
		}
	case t.s.DefaultTokenizer != "":
		if t.tok, err = t.find(t.s.DefaultTokenizer); err != nil {
			t.s.warn("%v; %s", err, builtin.Note)
			t.tok, err = builtin.Load()
		} else {
			t.s.note("tokens are counted with the tokenizer %s", t.tok.Name())
		}
	default:
		t.s.note("%s", builtin.Note)
		t.tok, err = builtin.Load()
	}
	if err != nil {
		return nil, err
	}
	for _, n := range t.tok.Notes() {
		t.s.note("tokenizer %s: %s", t.tok.Name(), n)
	}
	return t.tok, nil
}

func (t *tokenCounter) find(name string) (*tokenizer.Tokenizer, error) {
	return findTokenizer(t.ctx, t.getenv, name, tokenizer.Transformers4)
}

// findTokenizer loads a tokenizer of Hugging Face's cache or hub, of files, or the built-in one.
func findTokenizer(ctx context.Context, getenv func(string) string, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	home, _ := os.UserHomeDir() // without a home only paths are found
	return hub.FromEnv(getenv, home).Load(ctx, name, reading)
}

// loadTexts returns the maker of texts, with the tokenizer of the run.
func (t *tokenCounter) loadTexts() (*synth.Texts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts != nil {
		return t.texts, nil
	}
	vocab, err := t.vocabulary()
	if err != nil {
		return nil, err
	}
	t.texts = vocab.Texts(t.s.Seed, t.s.CacheSalt)
	return t.texts, nil
}

// vocabulary returns what texts are made of. t.mu is held.
func (t *tokenCounter) vocabulary() (*synth.Vocabulary, error) {
	if t.s.ids.Range {
		return t.s.ids.IDs(nil)
	}
	tok, err := t.loadLocked()
	if err != nil {
		return nil, err
	}
	var vocab *synth.Vocabulary
	if t.s.ids.Vocabulary {
		vocab, err = t.s.ids.IDs(tok.Ordinary())
	} else {
		vocab, err = vocabulary(tok)
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", tok.Name(), err)
	}
	return vocab, nil
}

// builtinVocabulary returns the vocabulary of the built-in tokenizer. Only the first call makes it.
var builtinVocabulary = sync.OnceValues(func() (*synth.Vocabulary, error) {
	tok, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	return synth.NewVocabulary(tok, builtin.Corpus())
})

// vocabulary returns the words of synthetic texts, with their token counts by tok.
func vocabulary(tok *tokenizer.Tokenizer) (*synth.Vocabulary, error) {
	if own, err := builtin.Load(); err == nil && tok == own {
		return builtinVocabulary()
	}
	return synth.NewVocabulary(tok, builtin.Corpus())
}

// use replaces the made-up texts by the texts of a set, which begin by the salt. It returns false
// if the entries hold no made-up text.
func (t *tokenCounter) use(set workload.Set, salt string) bool {
	if t.texts == nil {
		return false
	}
	t.texts.Use(set, salt)
	return true
}

// makes reports whether the texts of src are made up, by its first and last entry.
func (t *tokenCounter) makes(src workload.Source) bool {
	for _, k := range []int{0, src.Len() - 1} {
		before := t.made.Load()
		if _, err := src.At(k); err != nil || t.made.Load() == before {
			return false // the recorder reports the error
		}
	}
	return true
}

// write makes a text of an entry of a file.
func (t *tokenCounter) write(text func(*synth.Texts) (string, []uint32, error)) (string, []uint32, error) {
	texts, err := t.loadTexts()
	if err != nil {
		return "", nil, err
	}
	t.made.Add(1)
	return text(texts)
}

// Text implements dataset.Texts.
func (t *tokenCounter) Text(number uint64, tokens int) (string, []uint32, error) {
	return t.write(func(texts *synth.Texts) (string, []uint32, error) { return texts.Text(number, tokens) })
}

// Blocks implements dataset.Texts.
func (t *tokenCounter) Blocks(blocks []int64, size, tokens int) (string, []uint32, error) {
	return t.write(func(texts *synth.Texts) (string, []uint32, error) { return texts.Blocks(blocks, size, tokens) })
}

// Scoped implements dataset.Texts.
func (t *tokenCounter) Scoped(scope string, blocks []int64, size int, number uint64, rest int) (string, []uint32, error) {
	return t.write(func(texts *synth.Texts) (string, []uint32, error) {
		return texts.Scoped(scope, blocks, size, number, rest)
	})
}

// Parts implements dataset.Texts.
func (t *tokenCounter) Parts(names []uint64, tokens []int) (string, []uint32, error) {
	return t.write(func(texts *synth.Texts) (string, []uint32, error) { return texts.Parts(names, tokens) })
}

// count returns the number of tokens of a text. An error shows in t.err.
func (t *tokenCounter) count(text string) int {
	tok, err := t.load()
	if err != nil {
		t.fail(err)
		return 1
	}
	n := tok.Count(text)
	if err := tok.Err(); err != nil {
		t.fail(err)
	}
	return n
}

// fail keeps the first error of count.
func (t *tokenCounter) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// encode returns the tokens of a text, nil if the tokenizer is not the model's.
func (t *tokenCounter) encode(text string) []uint32 {
	tok, err := t.load()
	if err != nil || tok.Name() == builtin.Name && t.s.Tokenizer != builtin.Name {
		return nil
	}
	ids := tok.Encode(text)
	if tok.Err() != nil {
		return nil
	}
	return ids
}

// meta says which tokenizer was used; nil if none was.
func (t *tokenCounter) meta() *export.TokenizerMeta {
	if t.tok == nil {
		return nil
	}
	return &export.TokenizerMeta{Name: t.tok.Name(), SHA256: t.tok.Hash()}
}
