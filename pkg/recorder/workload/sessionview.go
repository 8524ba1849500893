package workload

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// MapSessions returns the sessions of all after changes. change is called when session k is opened. It may change s, whose nodes belong
// to others, and returns what changes the requests of s; nil for nothing. Both are called each time, also for several sessions
// at once, so that they must depend only on the session and the request. Errors of the returned function get the entry's position.
func MapSessions(all Sessions, change func(k int, s *Session) func(i int, e *Entry) error) Sessions {
	return mapSessions(all, change)
}

func mapSessions(all Sessions, change func(k int, s *Session) func(i int, e *Entry) error) *sessionView {
	v := &sessionView{
		n: all.Sessions(), outline: all.Outline, last: -1,
		open: func(k int) (*Session, error) {
			s, err := all.Open(k)
			if err != nil {
				return nil, err
			}
			changed := *s
			if entry, of := s.Entry, change(k, &changed); of != nil {
				changed.Entry = func(i int) (Entry, error) {
					e, err := entry(i)
					if err != nil {
						return e, err
					}
					if err := of(i, &e); err != nil {
						return e, fmt.Errorf("%s: %w", e.Place(), err)
					}
					return e, nil
				}
			}
			return &changed, nil
		},
	}
	if before, ok := all.(*sessionView); ok {
		v.ends = before.ends
	} else {
		v.count()
	}
	return v
}

// LimitSessions returns n of the sessions, n ≤ all.Sessions(), as [Limit] does of entries.
func LimitSessions(all Sessions, n int, o Order) Sessions {
	of := func(k int) int { return o.selected(k, all.Sessions()) }
	v := &sessionView{
		n: n, last: -1,
		outline: func(k int) Outline { return all.Outline(of(k)) },
		open:    func(k int) (*Session, error) { return all.Open(of(k)) },
	}
	v.count()
	return v
}

// A sessionView is Sessions made from others. Its entries are the requests of its sessions, in their order. It takes 4 bytes for each
// session.
type sessionView struct {
	n       int
	outline func(k int) Outline
	open    func(k int) (*Session, error)
	ends    []uint32 // number of requests up to the end of each session

	last        int // session of lastSession, or −1
	lastSession *Session
}

// count sets v.ends.
func (v *sessionView) count() {
	v.ends = make([]uint32, v.n)
	total := 0
	for k := range v.ends {
		total += v.outline(k).Requests
		v.ends[k] = uint32(total) //nolint:gosec // a source has no more requests
	}
}

// first returns the number of the first request of session k.
func (v *sessionView) first(k int) int {
	if k == 0 {
		return 0
	}
	return int(v.ends[k-1])
}

// Sessions implements Sessions.
func (v *sessionView) Sessions() int { return v.n }

// Outline implements Sessions.
func (v *sessionView) Outline(k int) Outline { return v.outline(k) }

// Open implements Sessions.
func (v *sessionView) Open(k int) (*Session, error) { return v.open(k) }

// Len implements Source.
func (v *sessionView) Len() int { return v.first(v.n) }

// At implements Source.
func (v *sessionView) At(k int) (Entry, error) {
	of := sort.Search(v.n, func(i int) bool { return int(v.ends[i]) > k })
	if of != v.last {
		s, err := v.open(of)
		if err != nil {
			return Entry{}, err
		}
		v.last, v.lastSession = of, s
	}
	return v.lastSession.Entry(k - v.first(of))
}

// WithSessionPrefix returns a change for [MapSessions] that puts words(k) in front of the conversations of session k: of each
// request that holds its history itself, and of each other one that begins a conversation. All have the same words, so that they
// share as much as before.
func WithSessionPrefix(words func(k int) (string, error)) func(k int, s *Session) func(i int, e *Entry) error {
	return func(k int, s *Session) func(i int, e *Entry) error {
		nodes := s.Nodes
		change := WithPrefix(func(int, *Entry) (string, error) { return words(k) })
		return func(i int, e *Entry) error {
			if !e.Whole && nodes[i].Continues >= 0 {
				return nil
			}
			return change(i, e)
		}
	}
}

// sessionModels is Models for sessions. In a session whose requests name models, one of the choice stands for itself. Of the others,
// which are of the recording, the first one stands for the first of the choice, the next one for the next, and so on around. Any
// other session has one model.
func sessionModels(all Sessions, c ModelChoice) Sessions {
	return MapSessions(all, func(k int, s *Session) func(i int, e *Entry) error {
		nodes := s.Nodes
		names, first, others := map[string]string{}, "", 0
		for _, n := range nodes {
			if n.Model == "" || names[n.Model] != "" {
				continue
			}
			name := n.Model
			if !slices.Contains(c.Names, name) {
				name = c.Names[others%len(c.Names)]
				others++
			}
			names[n.Model], first = name, cmp.Or(first, name)
		}
		return func(i int, e *Entry) (err error) {
			switch e.Model, err = namedModel(e); {
			case err != nil || e.Model != "":
			case first != "":
				e.Model = cmp.Or(names[nodes[i].Model], first) // one without a name is like the first
			default:
				e.Model = c.name(k)
			}
			return err
		}
	})
}
