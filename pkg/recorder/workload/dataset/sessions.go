package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A groupRow is a row of a group, with its number in the file.
type groupRow struct {
	*row
	i int
}

// A rowError is an error of a row of a group.
type rowError struct {
	row int
	err error
}

func (e *rowError) Error() string { return e.err.Error() }

func (e *rowError) Unwrap() error { return e.err }

// at returns an error of the row.
func (r groupRow) fault(format string, args ...any) error {
	return &rowError{r.i, fmt.Errorf(format, args...)}
}

// A sessionIndex says where the sessions of a file are.
type sessionIndex struct {
	// rows holds the numbers of the rows of all groups, and ends their number up to the end of each group.
	rows, ends []uint32
	outlines   []workload.Outline
	// from is the first session of each group, and requests the number of requests up to the end of each session.
	from     []uint32
	requests []uint32

	last        int // session of lastSession, or −1
	lastSession *workload.Session
}

// openSessions reads the sessions of a file whose layout has some.
func (f *file) openSessions(ctx context.Context) error {
	x := &sessionIndex{last: -1}
	if err := f.findGroups(ctx, x); err != nil {
		return err
	}
	seen := map[string]bool{}
	for g := range x.ends {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		all, err := f.readGroup(x, g)
		if err != nil {
			return err
		}
		x.from = append(x.from, uint32(len(x.outlines))) //nolint:gosec // at most as many as requests
		for _, s := range all {
			if seen[s.ID] {
				return f.rows.fault(int(x.group(g)[0]), fmt.Errorf("session %q was there before", clip([]byte(s.ID))))
			}
			seen[s.ID] = true
			if err := f.addSession(x, s); err != nil {
				return f.rows.fault(int(x.group(g)[0]), err)
			}
		}
	}
	f.sessions = x
	return nil
}

// addSession adds a session that was just read, and counts what its entries have.
func (f *file) addSession(x *sessionIndex, s *workload.Session) error {
	x.outlines = append(x.outlines, s.Outline())
	if f.n += len(s.Nodes); f.n > math.MaxUint32 {
		return fmt.Errorf("more than %d requests", uint32(math.MaxUint32))
	}
	x.requests = append(x.requests, uint32(f.n)) //nolint:gosec // checked
	for _, hit := range workload.PossibleHits(s) {
		f.hit.Hit, f.hit.Total = f.hit.Hit+hit.Hit, f.hit.Total+hit.Total
	}
	for i := range s.Nodes {
		e, err := s.Entry(i)
		if err != nil {
			return err
		}
		f.timed = f.timed || e.Timed
		f.facts.count([]workload.Entry{e}, nil)
	}
	return nil
}

// group returns the numbers of the rows of a group.
func (x *sessionIndex) group(g int) []uint32 {
	begin := uint32(0)
	if g > 0 {
		begin = x.ends[g-1]
	}
	return x.rows[begin:x.ends[g]]
}

// findGroups finds the rows that belong together.
func (f *file) findGroups(ctx context.Context, x *sessionIndex) error {
	var sets []int // the set that a set was joined to, or itself
	find := func(i int) int {
		for sets[i] != i {
			sets[i] = sets[sets[i]]
			i = sets[i]
		}
		return i
	}
	ofName, ofRow := map[string]int{}, make([]int32, f.rowsRead)
	for i := range f.rowsRead {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := f.rows.row(i)
		var names []string
		if err == nil {
			names, err = f.layout.group(f, f.options, r, i)
		}
		if err != nil {
			return f.rows.fault(i, err)
		}
		ofRow[i] = -1
		for k, name := range names {
			set, ok := ofName[name]
			if !ok {
				set = len(sets)
				sets = append(sets, set)
				ofName[name] = set
			}
			if k == 0 {
				ofRow[i] = int32(set) //nolint:gosec // at most as many as names of rows
				continue
			}
			a, b := find(int(ofRow[i])), find(set)
			sets[max(a, b)] = min(a, b)
		}
	}
	number, sizes := map[int]int{}, []uint32{} // groups, in the order of their first rows
	for i, set := range ofRow {
		if set < 0 {
			continue
		}
		root := find(int(set))
		g, ok := number[root]
		if !ok {
			g = len(sizes)
			number[root] = g
			sizes = append(sizes, 0)
		}
		sizes[g]++
		ofRow[i] = int32(g) //nolint:gosec // at most as many as rows
	}
	x.ends = make([]uint32, len(sizes))
	next, total := make([]uint32, len(sizes)), uint32(0)
	for g, n := range sizes {
		next[g] = total
		total += n
		x.ends[g] = total
	}
	x.rows = make([]uint32, total)
	for i, g := range ofRow {
		if g >= 0 {
			x.rows[next[g]] = uint32(i) //nolint:gosec // not negative
			next[g]++
		}
	}
	return nil
}

// readGroup reads the sessions of a group.
func (f *file) readGroup(x *sessionIndex, g int) ([]*workload.Session, error) {
	var rows []groupRow
	for _, i := range x.group(g) {
		r, err := f.rows.row(int(i))
		if err != nil {
			return nil, f.rows.fault(int(i), err)
		}
		rows = append(rows, groupRow{r, int(i)})
	}
	all, err := f.layout.sessions(f, f.options, rows)
	if err == nil {
		for _, s := range all {
			f.placeEntries(s, rows[0].i)
		}
		return all, nil
	}
	at := rows[0].i
	var of *rowError
	if errors.As(err, &of) {
		at = of.row
	}
	return nil, f.rows.fault(at, err)
}

// placeEntries makes the entries of a session name their file, their session and their turn. An entry whose row the layout did
// not set has row step.
func (f *file) placeEntries(s *workload.Session, step int) {
	entry, turns := s.Entry, turnsOf(s)
	s.Entry = func(i int) (workload.Entry, error) {
		e, err := entry(i)
		if err != nil {
			return e, err
		}
		e.File, e.Session, e.Turn = f.src.name, s.ID, turns[i]
		if e.Step == 0 {
			e.Step = step
		}
		return e, nil
	}
}

// turnsOf returns the position of each node among the requests of its agent.
func turnsOf(s *workload.Session) []int {
	turns, next := make([]int, len(s.Nodes)), make([]int, max(1, len(s.Agents)))
	for i, n := range s.Nodes {
		turns[i] = next[n.Agent]
		next[n.Agent]++
	}
	return turns
}

// session reads session k of the file again.
func (f *file) session(k int) (*workload.Session, error) {
	x := f.sessions
	g := sort.Search(len(x.from), func(i int) bool { return int(x.from[i]) > k }) - 1
	all, err := f.readGroup(x, g)
	if err != nil {
		return nil, err
	}
	if i := k - int(x.from[g]); i < len(all) && all[i].Outline() == x.outlines[k] {
		return all[i], nil
	}
	return nil, f.rows.fault(int(x.group(g)[0]), errChanged)
}

var errChanged = errors.New("the file has changed since it was opened")

// sessionEntry returns request k of the sessions of the file.
func (f *file) sessionEntry(k int) (workload.Entry, error) {
	x := f.sessions
	s := sort.Search(len(x.requests), func(i int) bool { return int(x.requests[i]) > k })
	if s != x.last {
		opened, err := f.session(s)
		if err != nil {
			return workload.Entry{}, err
		}
		x.last, x.lastSession = s, opened
	}
	return x.lastSession.Entry(k - int(x.requests[s]) + len(x.lastSession.Nodes))
}

// AsSessions returns the set as sessions. ok is false if a file of it holds none, so that its entries are single requests, or
// turns that name their session.
func (s *Set) AsSessions() (_ workload.Sessions, ok bool) {
	all := &setSessions{Set: s}
	n := 0
	for _, f := range s.files {
		if f.sessions == nil {
			return nil, false
		}
		n += len(f.sessions.outlines)
		all.sessionEnds = append(all.sessionEnds, n)
	}
	return all, true
}

// setSessions are the sessions of a Set.
type setSessions struct {
	*Set
	sessionEnds []int // number of sessions up to the end of each file
}

// Sessions implements workload.Sessions.
func (s *setSessions) Sessions() int { return s.sessionEnds[len(s.sessionEnds)-1] }

// Outline implements workload.Sessions.
func (s *setSessions) Outline(k int) workload.Outline {
	f, k := s.find(k)
	return f.sessions.outlines[k]
}

// Open implements workload.Sessions. It reads the rows of the session again, and returns an error if they have changed.
func (s *setSessions) Open(k int) (*workload.Session, error) {
	f, k := s.find(k)
	return f.session(k)
}

// find returns the file of session k and its number there.
func (s *setSessions) find(k int) (*file, int) {
	i := sort.SearchInts(s.sessionEnds, k+1)
	if i > 0 {
		k -= s.sessionEnds[i-1]
	}
	return s.files[i], k
}
