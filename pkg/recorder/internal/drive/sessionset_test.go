package drive

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// chains are sessions of two requests each, of which the source makes one when it is read.
type chains struct {
	n, bad int // session bad has an error in its second request, and −bad in its first
	read   *int
}

func (c chains) Len() int { return 2 * c.n }

func (c chains) At(k int) (workload.Entry, error) {
	*c.read++
	if k == 2*c.bad+1 || k == -2*c.bad && k > 0 {
		return workload.Entry{}, errors.New("a bad row")
	}
	return workload.Entry{Step: k}, nil
}

func (c chains) Sessions() int { return c.n }

func (c chains) Outline(k int) workload.Outline {
	return workload.Outline{ID: fmt.Sprint(k), Requests: 2}
}

func (c chains) Open(k int) (*workload.Session, error) {
	return &workload.Session{
		ID: fmt.Sprint(k), Nodes: []workload.Node{{Continues: -1}, {After: []workload.Edge{{}}}},
		Entry: func(i int) (workload.Entry, error) { return c.At(2*k + i) },
	}, nil
}

// Of sessions only the first request of each of the first ones is encoded before the load.
func TestSessionSet(t *testing.T) {
	set := func(c chains, identity string) (*RequestSet, int) {
		t.Helper()
		c.read = new(int)
		s, err := NewRequestSet(t.Context(), Workload{Backend: textBackend{}, Entries: c, KeepBytes: 1 << 20, Identity: func() string { return identity }})
		if err != nil {
			t.Fatal(err)
		}
		return s, *c.read
	}
	s, read := set(chains{n: 1000, bad: 7}, "x")
	if s.Len() != 2000 || s.Sessions() != 1000 || read != mostChecked || s.kept != nil {
		t.Errorf("%d requests of %d sessions, %d encoded and %d kept; want 2000, 1000, %d, 0", s.Len(), s.Sessions(), read, len(s.kept), mostChecked)
	}
	if again, _ := set(chains{n: 1000}, "x"); again.SHA256() != s.SHA256() || again.PromptsSHA256() != s.PromptsSHA256() {
		t.Error("the hashes of equal sessions differ")
	}
	for name, other := range map[string]struct {
		c        chains
		identity string
	}{"another identity": {chains{n: 1000}, "y"}, "fewer sessions": {chains{n: 999}, "x"}} {
		if o, _ := set(other.c, other.identity); o.SHA256() == s.SHA256() || o.PromptsSHA256() == s.PromptsSHA256() {
			t.Errorf("%s: the hashes are equal", name)
		}
	}
	if _, err := NewRequestSet(t.Context(), Workload{Backend: textBackend{}, Entries: chains{n: 9, bad: -3, read: new(int)}}); err == nil || err.Error() != "a bad row" {
		t.Errorf("error %v", err)
	}
}
