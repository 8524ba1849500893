package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// describe describes an entry on one line.
func describe(e workload.Entry) string {
	var b strings.Builder
	add := func(is bool, format string, args ...any) {
		if is {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, format, args...)
		}
	}
	for _, f := range e.Values {
		add(true, "%s=%s", f.Name, f.Value.Data)
	}
	for _, f := range e.Expected {
		add(true, "want:%s=%s", f.Name, f.Value.Data)
	}
	if p := e.Prompt; p != nil {
		add(p.System != "", "system:%q", p.System)
		add(p.Text != "" || p.Messages == nil && p.Body == nil, "%q", p.Text)
		for _, t := range p.More {
			add(true, "%q", t)
		}
		add(p.Messages != nil, "messages:%s", p.Messages)
		for _, m := range p.Media {
			add(true, "%v:%s", m.Kind, m.URL)
		}
		add(p.IDs != nil, "ids:%v", p.IDs)
		add(p.MaxTokens != 0, "max:%d", p.MaxTokens)
		add(p.Exact, "exact")
		for _, f := range p.Extra {
			add(true, "+%s=%s", f.Name, f.Value.Data)
		}
		add(p.Body != nil, "body:%s", p.Body)
	}
	add(e.Session != "", "session:%s/%d", e.Session, e.Turn)
	add(e.Delay != 0, "delay:%v", e.Delay)
	add(e.Timed, "at:%v", e.Offset)
	add(e.Whole, "whole")
	return b.String()
}

// all returns descriptions of all entries of a set, in order.
func all(t testing.TB, s *Set) []string {
	t.Helper()
	var got []string
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil {
			t.Fatalf("At(%d): %v", k, err)
		}
		got = append(got, describe(e))
	}
	return got
}

// write writes a temporary file and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens a temporary file with this content.
func open(t testing.TB, name, text string, o Options) (*Set, error) {
	t.Helper()
	s, err := Open(t.Context(), []string{write(t, name, text)}, o)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// numbered implements Texts with texts that name the arguments.
type numbered struct{}

func (numbered) Text(number uint64, tokens int) (string, []uint32, error) {
	return fmt.Sprintf("text %d of %d", number, tokens), nil, nil
}

func (numbered) Blocks(blocks []int64, size, tokens int) (string, []uint32, error) {
	return fmt.Sprintf("%d tokens in blocks of %d: %v", tokens, size, blocks), nil, nil
}

func (numbered) Scoped(scope string, blocks []int64, size int, number uint64, rest int) (string, []uint32, error) {
	var parts []string
	if len(blocks) > 0 {
		parts = append(parts, fmt.Sprintf("%s%v of %d", scope, blocks, size))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(parts, ", "), nil, nil
}

// words counts words.
func words(text string) int { return len(strings.Fields(text)) }
