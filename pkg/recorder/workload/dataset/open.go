package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Set is a workload.Source of what files hold, one file after the other. Close
// it.
type Set struct {
	files   []*file
	ends    []int     // the number of the entries of the files up to each
	streams [][]piece // of the input data of perf_analyzer
	rows    int       // that were read
}

var _ workload.Source = (*Set)(nil)

// A file is a part of a Set.
type file struct {
	src    *source
	rows   rows
	kind   *layoutKind
	layout layout
	window window
	timed  bool // some entry has a time

	rowsRead int
	n        int // entries
	// ends are the numbers of the entries up to each row; nil if every row has
	// one.
	ends []uint32
	// turns are those of the entries in their sessions; nil if there are no
	// sessions, or each is within a row.
	turns []uint16
	// streams are how many entries each stream has up to its end; nil if the
	// file knows no streams.
	streams []int
	// firstStream is the number of the file's first stream in the Set.
	firstStream int

	ignored []string       // members that mean nothing here
	out     map[string]int // rows that were left out, by what they are
	opening bool           // else nothing is noted: it was, once

	last        int // the row of recent, or −1
	lastEntries []workload.Entry
}

// Open reads paths: files, "-" for Options.Stdin, or folders, of which all files
// with one of [Suffixes] are read, in the order of their names. It reads all of
// it once. The first row that is not right is an *Error; others are of the file
// system, or ctx.
func Open(ctx context.Context, paths []string, o Options) (_ *Set, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Set{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, path := range paths {
		all, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if o.MaxRows > 0 && s.rows == o.MaxRows {
				break
			}
			if err := s.add(ctx, p, &o); err != nil {
				return nil, err
			}
		}
	}
	if s.Len() == 0 {
		return nil, fmt.Errorf("%s: no request in it%s", strings.Join(paths, ", "), s.why())
	}
	return s, nil
}

// OpenReader reads all of r as Open does one file. name is what messages and
// [Set.Files] call it.
func OpenReader(ctx context.Context, name string, r io.Reader, o Options) (_ *Set, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Set{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	src, err := spooled(ctx, name, r, &o)
	if err != nil {
		return nil, err
	}
	if err := s.addSource(ctx, src, &o); err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, fmt.Errorf("%s: no request in it%s", name, s.why())
	}
	return s, nil
}

// Suffixes are those of the files that are read of a folder, each also with .gz
// or .zst.
var Suffixes = []string{".json", ".jsonl", ".ndjson", ".csv", ".parquet"}

// IsDataFile reports whether a file of a folder is read, by its name.
func IsDataFile(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return slices.Contains(Suffixes, filepath.Ext(name))
}

// filesOf returns path, or the files of the folder that it is.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if path == "-" || errors.Is(err, fs.ErrNotExist) { // which opening tells better
		return []string{path}, nil
	}
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	inside, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range inside {
		if !e.IsDir() && IsDataFile(e.Name()) {
			all = append(all, filepath.Join(path, e.Name()))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no file in it ends in %s", path, strings.Join(Suffixes, ", "))
	}
	return all, nil
}

// add reads one file.
func (s *Set) add(ctx context.Context, path string, o *Options) error {
	src, err := openSource(ctx, path, o.Stdin, o)
	if err != nil {
		return err
	}
	return s.addSource(ctx, src, o)
}

// addSource reads the content of one file, which is closed with s.
func (s *Set) addSource(ctx context.Context, src *source, o *Options) error {
	left := *o
	if o.MaxRows > 0 {
		left.MaxRows -= s.rows
	}
	f := &file{src: src, window: window{o.From, o.To}, out: map[string]int{}, last: -1}
	s.files = append(s.files, f)
	if err := f.open(ctx, &left); err != nil {
		return err
	}
	s.rows += f.rowsRead
	s.addStreams(f)
	s.ends = append(s.ends, s.Len()+f.n)
	return nil
}

// open finds rows and layout, and reads all entries.
func (f *file) open(ctx context.Context, o *Options) (err error) {
	if f.rows, err = openRows(ctx, f.src, o); err != nil {
		return err
	}
	if f.rows.len() == 0 {
		return nil
	}
	first, err := f.rows.row(0)
	if err != nil {
		return err
	}
	if f.kind, err = chooseLayout(f, first, o); err != nil {
		return f.rows.fault(0, err)
	}
	f.layout = f.kind.make(f, o)
	f.opening = true
	defer func() { f.opening = false }()
	seen := map[string]uint16{}
	f.rowsRead = f.rows.len()
	if o.MaxRows > 0 {
		f.rowsRead = min(f.rowsRead, o.MaxRows)
	}
	for i := range f.rowsRead {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		es, err := f.parse(i)
		if err != nil {
			return err
		}
		f.countStreams(es)
		if f.n += len(es); f.n > math.MaxUint32 {
			return fmt.Errorf("%s: more than %d requests", f.src.name, uint32(math.MaxUint32))
		}
		f.index(i, len(es))
		f.number(es, seen)
	}
	if f.window != (window{}) && !f.timed {
		return fmt.Errorf("%s: a window of a trace is asked for, but none of the rows has a time, such as \"timestamp\"", f.src.name)
	}
	return nil
}

// parse reads the entries of row i that are wanted.
func (f *file) parse(i int) ([]workload.Entry, error) {
	r, err := f.rows.row(i)
	if err != nil {
		return nil, err
	}
	es, err := f.layout.entries(r, i)
	if err != nil {
		return nil, f.rows.fault(i, err)
	}
	wanted := es[:0]
	for _, e := range es {
		if e.Prompt != nil {
			e.Step = i
		}
		if f.opening && e.Timed {
			f.timed = true
		}
		if f.window.admit(&e) {
			wanted = append(wanted, e)
		} else {
			f.leaveOut("requests outside the window of the trace")
		}
	}
	return wanted, nil
}

// index notes that row i has n entries.
func (f *file) index(i, n int) {
	if f.ends == nil && n == 1 {
		return
	}
	if f.ends == nil {
		f.ends = make([]uint32, i, f.rows.len())
		for k := range f.ends {
			f.ends[k] = uint32(k + 1)
		}
	}
	f.ends = append(f.ends, uint32(f.n))
}

// number counts the turns of sessions that are spread over rows. seen is how many
// of each there were.
func (f *file) number(es []workload.Entry, seen map[string]uint16) {
	if f.kind.wholeSessions {
		return
	}
	for k, e := range es {
		switch {
		case e.Session == "" && f.turns != nil:
			f.turns = append(f.turns, 0)
		case e.Session != "":
			if f.turns == nil {
				f.turns = make([]uint16, f.n-len(es)+k, f.rows.len())
			}
			turn := seen[e.Session]
			f.turns = append(f.turns, turn)
			if turn < math.MaxUint16 {
				seen[e.Session]++
			}
		}
	}
}

// Len implements workload.Source.
func (s *Set) Len() int {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// At implements workload.Source. It is an error that the file has changed since
// Open.
func (s *Set) At(k int) (workload.Entry, error) {
	i := sort.SearchInts(s.ends, k+1)
	if i > 0 {
		k -= s.ends[i-1]
	}
	return s.files[i].at(k)
}

// at returns the file's entry k.
func (f *file) at(k int) (workload.Entry, error) {
	i, sub := k, 0
	if f.ends != nil {
		i = sort.Search(len(f.ends), func(i int) bool { return f.ends[i] > uint32(k) })
		if sub = k; i > 0 {
			sub = k - int(f.ends[i-1])
		}
	}
	if i != f.last {
		es, err := f.parse(i)
		if err != nil {
			return workload.Entry{}, err
		}
		f.last, f.lastEntries = i, es
	}
	if sub >= len(f.lastEntries) {
		return workload.Entry{}, f.rows.fault(i, errors.New("the file has changed since it was opened"))
	}
	e := f.lastEntries[sub]
	if f.turns != nil {
		e.Turn = int(f.turns[k])
	}
	e.Stream += f.firstStream
	e.File = f.src.name
	return e, nil
}

// ignore notes a member of a row that means nothing here.
func (f *file) ignore(name string) {
	const most = 20
	if f.opening && len(f.ignored) < most && !slices.Contains(f.ignored, name) {
		f.ignored = append(f.ignored, name)
	}
}

// leaveOut notes that a row is left out, and what it is.
func (f *file) leaveOut(what string) {
	if f.opening {
		f.out[what]++
	}
}

// openRows finds out how a file holds its rows.
func openRows(ctx context.Context, src *source, o *Options) (rows, error) {
	const most = 64 << 10
	head, err := src.head(most)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case src.size == 0:
		return nil, fmt.Errorf("%s: is empty (0 bytes)", src.name)
	case isText(src.name, head, o):
		return openText(ctx, src)
	case len(text) == 0:
		return nil, fmt.Errorf("%s: nothing but white space", src.name)
	case bytes.HasPrefix(head, []byte(parquetMagic)):
		return openParquet(ctx, src, o)
	case text[0] == '[':
		d, err := openDocument(ctx, src)
		if err != nil {
			return nil, err
		}
		return d.unwrapped(), nil
	case text[0] == '{':
		return openObjects(ctx, src)
	case looksLikeTable(text):
		return openTable(ctx, src)
	}
	advice := "to send each line as a prompt, give the file a name that ends in .txt"
	if isTextName(src.name) {
		advice = fmt.Sprintf("only the layout prompts has plain text, not %s", o.Layout)
	}
	return nil, fmt.Errorf("%s: is neither JSON, JSON Lines, CSV with the names of columns in its first line, nor Parquet: it begins with %q; %s", src.name, clip(text), advice)
}

// openObjects opens a file that begins with an object: JSON Lines if there is more
// behind it, or if it is a row on a line; else a document.
func openObjects(ctx context.Context, src *source) (rows, error) {
	d, err := openDocument(ctx, src)
	var e *Error
	switch {
	case errors.Is(err, errMore):
		return openLines(ctx, src)
	case errors.As(err, &e):
		// A document that is not right, or a first line: then the next one
		// begins with an object too.
		if isLines, rerr := secondLineIsObject(src); rerr == nil && isLines {
			return openLines(ctx, src)
		}
		return nil, err
	case err != nil:
		return nil, err
	case d.member == "":
		text, err := src.read(d.spans[0].start, min(d.spans[0].end, d.spans[0].start+src.bytes))
		if err == nil && !bytes.ContainsRune(text, '\n') {
			return openLines(ctx, src)
		}
	}
	return d.unwrapped(), nil
}

// secondLineIsObject reports whether the second line begins with a brace.
func secondLineIsObject(src *source) (bool, error) {
	r, _ := src.scan()
	if _, _, err := lineLength(r); err != nil {
		return false, err
	}
	c, err := r.ReadByte()
	return c == '{', err
}

// looksLikeTable reports whether text begins with the names of columns: several,
// or that of a prompt.
func looksLikeTable(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if slices.Contains(promptColumns, string(bytes.TrimSpace(line))) {
		return true
	}
	return utf8.Valid(line) && bytes.ContainsRune(line, ',') && !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' })
}

// Close closes the files.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.src.close())
	}
	s.files = nil
	return errors.Join(errs...)
}
