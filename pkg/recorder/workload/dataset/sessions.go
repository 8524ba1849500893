package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

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

// fault returns an error of the row.
func (r groupRow) fault(format string, args ...any) error {
	return &rowError{r.i, fmt.Errorf(format, args...)}
}

// A sessionIndex says where the sessions of a file are. It takes about 16 bytes for each row and session, and the ids.
type sessionIndex struct {
	// rows holds the numbers of the rows of all groups, and ends their number up to the end of each group; nil if each row is a
	// group.
	rows, ends []uint32
	groups     int
	// from is the first session of each group; nil if each group has one session.
	from []uint32
	// requests is the number of requests up to the end of each session.
	requests []uint32
	ids      string // of all sessions, one after the other
	idEnds   []uint32
	// offsets are the offsets of the sessions, or untimed; nil if no session has one.
	offsets []time.Duration

	last        int // session of lastSession, or −1
	lastSession *workload.Session
}

// untimed is the offset of a session without one.
const untimed = time.Duration(-1)

// sessionIDs are the ids of the sessions of a Set while it is opened.
type sessionIDs map[string]bool

// openSessions reads the sessions of a file whose layout has some. It makes no texts: it counts what the requests have.
func (f *file) openSessions(ctx context.Context, ids sessionIDs) error {
	x := &sessionIndex{last: -1, groups: f.rowsRead}
	if f.layout.group != nil {
		if err := f.findGroups(ctx, x); err != nil {
			return err
		}
	}
	opening := *f.options
	if opening.Texts != nil {
		opening.Texts = noTexts{}
	}
	if opening.Count != nil {
		opening.Count = func(string) int { return 1 }
	}
	var names strings.Builder
	single := true // each group has one session so far
	for g := range x.groups {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		all, err := f.readGroup(x, g, &opening)
		if err != nil {
			return err
		}
		if single && len(all) != 1 {
			single = false
			for i := range g {
				x.from = append(x.from, uint32(i)) //nolint:gosec // at most as many as rows
			}
		}
		if !single {
			x.from = append(x.from, uint32(len(x.idEnds))) //nolint:gosec // at most as many as requests
		}
		for _, s := range all {
			if err := f.nameSession(s, ids); err != nil {
				return f.sessionFault(x.firstRow(g), err)
			}
			names.WriteString(s.ID)
			if err := f.addSession(x, s, names.Len()); err != nil {
				return f.sessionFault(x.firstRow(g), err)
			}
		}
	}
	x.ids = strings.Clone(names.String()) // without the room to grow, which the others drop, too
	x.from, x.requests, x.idEnds, x.offsets = slices.Clone(x.from), slices.Clone(x.requests), slices.Clone(x.idEnds), slices.Clone(x.offsets)
	f.sessions = x
	return nil
}

// noTexts is the Texts of files that are being opened: only the lengths are checked.
type noTexts struct{}

func (noTexts) Text(uint64, int) (string, []uint32, error) { return "", nil, nil }

func (noTexts) Blocks([]int64, int, int) (string, []uint32, error) { return "", nil, nil }

func (noTexts) Parts([]uint64, []int) (string, []uint32, error) { return "", nil, nil }

func (noTexts) Scoped(string, []int64, int, uint64, int) (string, []uint32, error) {
	return "", nil, nil
}

// nameSession gives a session whose id a file before has, too, the name of its own file.
func (f *file) nameSession(s *workload.Session, ids sessionIDs) error {
	if ids[s.ID] {
		if f.sessionIDs[s.ID] {
			return fmt.Errorf("session %q is there twice; ids must differ", clip([]byte(s.ID)))
		}
		s.ID = f.ownID(s.ID)
		if ids[s.ID] {
			return fmt.Errorf("session %q is there twice, although it has the name of this file; ids must differ", clip([]byte(s.ID)))
		}
		f.renamed++
	}
	ids[s.ID], f.sessionIDs[s.ID] = true, true
	return nil
}

// ownID returns the id of a session of f whose id another file has, too.
func (f *file) ownID(id string) string { return filepath.Base(f.src.name) + ": " + id }

// addSession adds a session that was just read, and counts what its requests have. names is the length of all ids so far.
func (f *file) addSession(x *sessionIndex, s *workload.Session, names int) error {
	if f.n += len(s.Nodes); f.n > math.MaxUint32 || names > math.MaxUint32 {
		return fmt.Errorf("more than %d requests, or more bytes of session ids; split the file", uint32(math.MaxUint32))
	}
	x.requests = append(x.requests, uint32(f.n)) //nolint:gosec // checked
	x.idEnds = append(x.idEnds, uint32(names))   //nolint:gosec // checked
	if s.Timed && x.offsets == nil {
		for range len(x.idEnds) - 1 {
			x.offsets = append(x.offsets, untimed)
		}
	}
	switch {
	case s.Timed:
		x.offsets = append(x.offsets, s.Offset)
	case x.offsets != nil:
		x.offsets = append(x.offsets, untimed)
	}
	f.facts.Sessions.Add(f.options.Delays.Changed(s))
	for _, hit := range workload.PossibleHits(s) {
		f.hit.Hit, f.hit.Total = f.hit.Hit+hit.Hit, f.hit.Total+hit.Total
	}
	for i, n := range s.Nodes {
		e, err := s.Entry(i)
		if err != nil {
			return err
		}
		e.Timed = e.Timed || s.Timed && i == 0
		if len(n.After) > 0 && e.Delay == 0 {
			e.Delay = n.After[0].Delay // for its count
		}
		f.facts.count([]workload.Entry{e}, nil)
	}
	return nil
}

// outline returns the outline of session k.
func (x *sessionIndex) outline(k int) workload.Outline {
	o := workload.Outline{ID: x.ids[before(x.idEnds, k):x.idEnds[k]], Requests: int(x.requests[k]) - before(x.requests, k)}
	if x.offsets != nil && x.offsets[k] != untimed {
		o.Timed, o.Offset = true, x.offsets[k]
	}
	return o
}

// before returns the value before ends[i]; 0 for the first one.
func before(ends []uint32, i int) int {
	if i == 0 {
		return 0
	}
	return int(ends[i-1])
}

// firstRow returns the number of the first row of a group.
func (x *sessionIndex) firstRow(g int) int {
	if x.rows == nil {
		return g
	}
	return int(x.rows[before(x.ends, g)])
}

// group returns the numbers of the rows of a group.
func (x *sessionIndex) group(g int) []uint32 {
	if x.rows == nil {
		return []uint32{uint32(g)} //nolint:gosec // at most as many as rows
	}
	return x.rows[before(x.ends, g):x.ends[g]]
}

// findGroups finds the rows that belong together.
func (f *file) findGroups(ctx context.Context, x *sessionIndex) error {
	var sets []int32 // the set that a set was joined to, or itself
	find := func(i int32) int32 {
		for sets[i] != i {
			sets[i] = sets[sets[i]]
			i = sets[i]
		}
		return i
	}
	ofName, ofRow := map[string]int32{}, make([]int32, f.rowsRead)
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
				set = int32(len(sets)) //nolint:gosec // at most as many as names of rows
				sets = append(sets, set)
				ofName[name] = set
			}
			if k == 0 {
				ofRow[i] = set
				continue
			}
			a, b := find(ofRow[i]), find(set)
			sets[max(a, b)] = min(a, b)
		}
	}
	const unseen = -1
	number, sizes := make([]int32, len(sets)), []uint32{} // groups, in the order of their first rows
	for i := range number {
		number[i] = unseen
	}
	for i, set := range ofRow {
		if set < 0 {
			continue
		}
		root := find(set)
		if number[root] == unseen {
			number[root] = int32(len(sizes)) //nolint:gosec // at most as many as rows
			sizes = append(sizes, 0)
		}
		ofRow[i] = number[root]
		sizes[ofRow[i]]++
	}
	if x.groups = len(sizes); x.groups == len(ofRow) { // each row is a group
		return nil
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

// readGroup reads the sessions of a group that are within the window of the trace.
func (f *file) readGroup(x *sessionIndex, g int, o *Options) ([]*workload.Session, error) {
	var rows []groupRow
	for _, i := range x.group(g) {
		r, err := f.rows.row(int(i))
		if err != nil {
			return nil, f.rows.fault(int(i), err)
		}
		rows = append(rows, groupRow{r, int(i)})
	}
	all, err := f.layout.sessions(f, o, rows)
	if err == nil {
		inside := all[:0]
		for _, s := range all {
			f.timed = f.timed || f.opening && s.Timed
			if !f.window.shiftSession(s) {
				f.leaveOut("sessions outside the window of the trace")
				continue
			}
			f.placeEntries(s, rows[0].i)
			inside = append(inside, s)
		}
		return inside, nil
	}
	return nil, f.sessionFault(rows[0].i, err)
}

// sessionFault returns an error of a session whose first row is i with the position of the row that it names; of row i if it names none.
func (f *file) sessionFault(i int, err error) error {
	var placed *Error
	var of *rowError
	switch {
	case errors.As(err, &placed):
		return err
	case errors.As(err, &of):
		i = of.row
	}
	return f.rows.fault(i, err)
}

// placeEntries makes the entries of a session name their file, their session and their turn. An entry whose row the layout did
// not set has row step.
func (f *file) placeEntries(s *workload.Session, step int) {
	entry, turns := s.Entry, s.Turns()
	s.Entry = func(i int) (workload.Entry, error) {
		e, err := entry(i)
		if err != nil {
			return e, f.sessionFault(step, err)
		}
		e.File, e.Session, e.Turn = f.src.name, s.ID, turns[i]
		if e.Step == 0 {
			e.Step = step
		}
		return e, nil
	}
}

// agentIDs makes the ids of the agents of a session differ: how often each was there.
type agentIDs map[string]int

// next returns an id for an agent: its own, or one with a number behind it if another agent has that.
func (all agentIDs) next(id string) string {
	name := id
	for all[name] > 0 {
		all[id]++
		name = fmt.Sprintf("%s#%d", id, all[id])
	}
	all[name]++
	return name
}

// session reads session k of the file again.
func (f *file) session(k int) (*workload.Session, error) {
	x := f.sessions
	g, i := k, 0
	if x.from != nil {
		g = sort.Search(len(x.from), func(i int) bool { return int(x.from[i]) > k }) - 1
		i = k - int(x.from[g])
	}
	all, err := f.readGroup(x, g, f.options)
	if err != nil {
		return nil, err
	}
	if i < len(all) {
		s, o := all[i], x.outline(k)
		if s.ID != o.ID && f.ownID(s.ID) == o.ID {
			s.ID = o.ID
		}
		if s.Outline() == o {
			return s, nil
		}
	}
	return nil, f.rows.fault(x.firstRow(g), errChanged)
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
	return x.lastSession.Entry(k - before(x.requests, s))
}

// checkKind returns an error if one of two files holds sessions and the other one single requests.
func (s *Set) checkKind(f *file) error {
	for _, other := range s.files {
		if other == f || other.layout == nil || f.layout == nil || other.plays == f.plays {
			continue
		}
		a, b := f, other
		if !a.plays {
			a, b = b, a
		}
		return fmt.Errorf("%s holds sessions (%s), and %s single requests (%s): they cannot be sent in one run; give one of them",
			a.src.name, a.layout.name, b.src.name, b.layout.name)
	}
	return nil
}

// AsSessions returns the set as sessions. ok is false if its files hold none, so that its entries are single requests, or
// turns that name their session.
func (s *Set) AsSessions() (_ workload.Sessions, ok bool) {
	all := &setSessions{Set: s}
	n := 0
	for _, f := range s.files {
		if f.layout == nil {
			all.sessionEnds = append(all.sessionEnds, n)
			continue
		}
		if f.sessions == nil {
			return nil, false
		}
		n += len(f.sessions.idEnds)
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
	return f.sessions.outline(k)
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
