package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// An addedToken is a token that is found in the text before the other steps.
type addedToken struct {
	content string
	id      uint32
	// singleWord matches only between characters that are not word characters.
	// lstrip and rstrip include the white space on that side. normalized matches the
	// normalized token in the normalized text.
	singleWord, lstrip, rstrip, normalized bool
	// written is the sought form: content, or normalized content if normalized.
	written string
}

// addedTokens holds the tokens besides the vocabulary of the model.
type addedTokens struct {
	props *unidata.Props
	byID  map[uint32]*addedToken
	ids   map[string]uint32
	// blanks means that the normalized text has blanks instead of wordMark.
	blanks bool
	// plain finds tokens in the given text, normalized in the normalized text. They
	// are nil if there are no such tokens.
	plain, normalized *tokenFinder
}

// readAddedTokens reads the list of added tokens. As in the library, the model and the
// order determine the ids. A note reports each id in the file that differs.
func readAddedTokens(list *node, m model, n normalizer) (*addedTokens, error) {
	a := newAddedTokens()
	tokens, err := readTokenList(list)
	if err != nil || tokens == nil {
		return a, err
	}
	err = a.addAll(tokens, m, n, func(i int, id uint32) {
		list.doc.note("%s: token %s has id %d in the file, but its place gives it %d, as in the library", list.values[i].field, quote(tokens[i].content), tokens[i].id, id)
	})
	if err != nil {
		return nil, list.errorf("%w", err)
	}
	return a, nil
}

// readRebuiltTokens reads the added tokens of a rebuilt tokenizer.
func readRebuiltTokens(r *rebuilding, list *node, m model, n normalizer) (*addedTokens, error) {
	tokens, err := r.addedTokens(list)
	if err != nil {
		return nil, err
	}
	a := newAddedTokens()
	err = a.addAll(tokens, m, n, func(int, uint32) {}) // ids follow from the places, as in the library
	if err != nil {
		return nil, list.errorf("%w", err)
	}
	return a, nil
}

func newAddedTokens() *addedTokens {
	return &addedTokens{props: unidata.Load(), byID: map[uint32]*addedToken{}, ids: map[string]uint32{}}
}

// readTokenList reads the added_tokens of a tokenizer.json. A null list is empty.
func readTokenList(list *node) ([]addedToken, error) {
	if list.isNull() {
		return nil, nil
	}
	values, err := list.array()
	if err != nil {
		return nil, err
	}
	var tokens []addedToken
	for _, v := range values {
		t, err := readAddedToken(v)
		if err != nil {
			return nil, err
		}
		if t.id, err = v.wantUint32("id"); err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// readTokenMap reads the added_tokens_decoder of a tokenizer_config.json, whose keys
// are ids.
func readTokenMap(m *node) ([]addedToken, error) {
	if err := m.object(); err != nil {
		return nil, err
	}
	var tokens []addedToken
	for i, key := range m.names {
		t, err := readAddedToken(m.values[i])
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseUint(key, 10, 32)
		if err != nil {
			return nil, m.values[i].errorf("expected an id, found %s", quote(key))
		}
		t.id = uint32(id)
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// readAddedToken reads one added token, without its id.
func readAddedToken(n *node) (addedToken, error) {
	var t addedToken
	if err := n.object(); err != nil {
		return t, err
	}
	var err error
	if t.content, err = n.wantString("content"); err != nil {
		return t, err
	}
	if err := checkToken(t.content); err != nil {
		return t, n.errorf("%w", err)
	}
	special := false
	for name, to := range map[string]*bool{
		"single_word": &t.singleWord, "lstrip": &t.lstrip, "rstrip": &t.rstrip, "special": &special,
	} {
		if *to, err = n.boolOr(name, false); err != nil {
			return t, err
		}
	}
	t.normalized, err = n.boolOr("normalized", !special)
	return t, err
}

// addAll assigns ids to the tokens and builds the finders. It calls differs for each token
// whose id changes. It fails if the normalizer makes the tokens too long.
func (a *addedTokens) addAll(tokens []addedToken, m model, n normalizer, differs func(i int, id uint32)) error {
	v := m.vocabulary()
	before := 0
	for i := range tokens {
		before += len(tokens[i].content)
	}
	left := longest(before)
	next := uint32(v.size())
	for id := range a.byID {
		next = max(next, id+1)
	}
	for i, t := range tokens {
		if t.content == "" {
			continue
		}
		id, ok := a.ids[t.content]
		if !ok {
			id, ok = v.id(t.content)
		}
		if !ok {
			id = next
			next++
		}
		if id != t.id {
			differs(i, id)
		}
		t.id = id
		t.written = t.content
		if t.normalized && n != nil {
			t.written = n.normalize(t.content, left)
			if left -= len(t.written); left < 0 {
				return fmt.Errorf("the normalizer makes more than %d bytes of the tokens, which have %d bytes", longest(before), before)
			}
			if err := checkToken(t.written); err != nil {
				return fmt.Errorf("after the normalizer, %w", err)
			}
		}
		a.ids[t.content] = id
		a.byID[id] = &t
	}
	a.index()
	return nil
}

// place adds tokens under their own ids.
func (a *addedTokens) place(tokens []addedToken) {
	for _, t := range tokens {
		t.written = t.content
		a.ids[t.content] = t.id
		a.byID[t.id] = &t
	}
	a.index()
}

// useBlanks declares that the normalized text has blanks instead of wordMark.
func (a *addedTokens) useBlanks() {
	a.blanks = true
	a.index()
}

// index builds the finders.
func (a *addedTokens) index() {
	a.plain, a.normalized = nil, nil
	for _, t := range a.byID {
		finder, sought := &a.plain, t.written
		if t.normalized {
			finder = &a.normalized
			if a.blanks {
				sought, _ = withBlanks(sought)
			}
		}
		if *finder == nil {
			*finder = &tokenFinder{tokens: newTrie()}
		}
		(*finder).tokens.add(sought, int32(t.id))
	}
	for _, f := range []*tokenFinder{a.plain, a.normalized} {
		if f != nil {
			f.setOnly()
		}
	}
}

// A tokenFinder finds the leftmost token in a text, and the longest one at that position.
type tokenFinder struct {
	tokens *trie
	// only is the byte that all tokens start with; valid if single.
	only   byte
	single bool
}

// setOnly sets only and single from the first bytes of the tokens.
func (f *tokenFinder) setOnly() {
	n := 0
	for b, is := range f.tokens.first {
		if is {
			f.only = byte(b)
			n++
		}
	}
	f.single = n == 1
}

// next finds the first token in s[i:]. id is negative if there is none.
func (f *tokenFinder) next(s string, i int) (id int32, start, end int) {
	for {
		if f.single {
			at := strings.IndexByte(s[i:], f.only)
			if at < 0 {
				return -1, 0, 0
			}
			i += at
		} else {
			for i < len(s) && !f.tokens.first[s[i]] {
				i++
			}
			if i == len(s) {
				return -1, 0, 0
			}
		}
		if id, end := f.tokens.longest(s, i); id >= 0 {
			return id, i, end
		}
		i++
	}
}

// split calls text for each non-empty part of s between tokens, and token for each token,
// in order.
func (a *addedTokens) split(f *tokenFinder, s string, text func(part string, start int), token func(id uint32)) {
	if f == nil {
		if s != "" {
			text(s, 0)
		}
		return
	}
	done := 0
	for at := 0; ; {
		found, start, end := f.next(s, at)
		if found < 0 {
			break
		}
		at = end
		t := a.byID[uint32(found)]
		if t.singleWord && (a.wordBefore(s, start) || a.wordAfter(s, end)) {
			continue
		}
		if t.lstrip {
			start = max(done, a.spaceBefore(s, start))
		}
		if t.rstrip {
			end = a.spaceAfter(s, end)
		}
		if done < start {
			text(s[done:start], done)
		}
		token(t.id)
		done = end
	}
	if done < len(s) {
		text(s[done:], done)
	}
}

func (a *addedTokens) wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && a.props.Is(unidata.Word, r)
}

func (a *addedTokens) wordAfter(s string, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	return n > 0 && a.props.Is(unidata.Word, r)
}

// spaceBefore returns where the white space before s[i] starts.
func (a *addedTokens) spaceBefore(s string, i int) int {
	return len(strings.TrimRightFunc(s[:i], func(r rune) bool { return a.props.Is(unidata.White, r) }))
}

// spaceAfter returns where the white space from s[i] on ends.
func (a *addedTokens) spaceAfter(s string, i int) int {
	return len(s) - len(strings.TrimLeftFunc(s[i:], func(r rune) bool { return a.props.Is(unidata.White, r) }))
}
