package dataset

import (
	"bytes"
	"context"
	"encoding/json"
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
	"time"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Set is a workload.Source of the entries of several files, in order. The caller must close
// it.
type Set struct {
	files   []*file
	ends    []int     // number of entries up to the end of each file
	streams [][]piece // ranges of entries of each stream of perf_analyzer
	rows    int       // number of rows read
	facts   Facts
	ids     sessionIDs // nil once the set is open
}

var _ workload.Source = (*Set)(nil)

// A file is one file of a Set.
type file struct {
	src     *source
	rows    rows
	layout  *layout
	named   bool // Options.Layout names the layout
	plays   bool // the rows are read as sessions
	options *Options
	window  window
	timed   bool // some entry has a time
	// promptMember is Options.PromptMember, unless Options.Layout takes the rows for whole requests.
	promptMember string

	rowsRead int
	n        int // entries
	// ends holds the number of entries up to the end of each row; nil if every row has
	// one.
	ends []uint32
	// turns holds the position of each entry in its session; nil if there are no
	// sessions, or if each is within a row.
	turns []uint16
	// streams holds the number of entries up to the end of each stream; nil if the file
	// has no streams.
	streams []int
	// firstStream is the number of the file's first stream in the Set.
	firstStream int

	sessions   *sessionIndex // nil if the layout has no sessions
	dag        *dagIndex     // of the layout dag_jsonl
	dynamo     *dynamoFile   // of the layout dynamo
	graph      *graphFile    // of the layout graph_ir
	sessionIDs sessionIDs    // while opening
	played     int           // requests so far, of layouts whose sessions share what they play
	renamed    int           // sessions whose ids other files have, too
	// sessionColumn names the session of a row, in a layout that has several such columns.
	sessionColumn string
	hit           workload.Hit // of all sessions with blocks

	ignored  memberNames             // members that requests do not get
	passed   memberNames             // unknown members that requests get
	facts    *Facts                  // of the Set
	blocks   map[string]blocksBefore // while opening a trace: hash ids of the last row of a session
	unknown  []uint32                // rows of a trace that may hold the history or not: nothing says it
	start    time.Time               // of a trace with times of day: its earliest row, or its first one
	messages map[string]lastMessages // while opening: of the last row of a session
	whole    []uint64                // bit i: row i holds the history of its session
	leftOut  map[string]int          // number of skipped rows, or of skipped entries, by reason
	assumed  map[string]int          // how often what the data leaves open was taken so
	opening  bool                    // during the first pass, which records notes
	reading  func(path string) error // see Options.Reading

	last        int // row of lastEntries, or −1
	lastEntries []workload.Entry
}

// Open reads paths: files, "-" for Options.Stdin, or folders. In a folder it reads all files
// with one of suffixes, in the order of their names, or without such files each audio file as a prompt: see audioSuffixes. It reads everything once, and returns
// the first error. The error for a bad row is an *Error.
func Open(ctx context.Context, paths []string, o Options) (*Set, error) {
	return newSet(strings.Join(paths, ", "), &o, func(s *Set) error {
		for _, path := range paths {
			if rows := audioFolder(path); rows != nil {
				src, err := spooled(ctx, filepath.Join(path, "*"), bytes.NewReader(rows), &o)
				if err == nil {
					err = s.addSource(ctx, src, &o)
				}
				if err != nil {
					return err
				}
				continue
			}
			all, err := filesOf(path)
			if err != nil {
				return err
			}
			for _, p := range all {
				if o.MaxRows > 0 && s.rows == o.MaxRows {
					break
				}
				if err := s.add(ctx, p.path, &o); err != nil {
					return err
				}
				if f := s.files[len(s.files)-1]; p.requests >= 0 && f.n != p.requests && o.MaxRows == 0 {
					return fmt.Errorf("%s: expected %d requests, the model_calls of its manifest, found %d; is the file whole?", p.path, p.requests, f.n)
				}
			}
		}
		return nil
	})
}

// OpenReader reads r as Open reads a file. name is its name for messages and [Set.Files].
func OpenReader(ctx context.Context, name string, r io.Reader, o Options) (*Set, error) {
	return newSet(name, &o, func(s *Set) error {
		src, err := spooled(ctx, name, r, &o)
		if err != nil {
			return err
		}
		return s.addSource(ctx, src, &o)
	})
}

// newSet returns a Set of the files that fill adds. Without entries it is an error, about
// name.
func newSet(name string, o *Options, fill func(*Set) error) (*Set, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Set{ids: sessionIDs{}}
	err := fill(s)
	s.ids = nil
	if err == nil && s.Len() == 0 {
		err = fmt.Errorf("%s: no request in it%s", name, s.explainEmpty())
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// suffixes lists the suffixes of the files that Open reads in a folder, each also with .gz or
// .zst appended.
var suffixes = []string{".json", ".jsonl", ".ndjson", ".csv", ".parquet"}

// audioSuffixes lists the suffixes of the audio files that Open reads in a folder without data files.
var audioSuffixes = []string{".wav", ".flac", ".mp3", ".ogg"}

// isAudioFile reports whether Open reads an audio file of this name in a folder.
func isAudioFile(name string) bool {
	return slices.Contains(audioSuffixes, strings.ToLower(filepath.Ext(name)))
}

// audioFolder returns a row for each audio file of a folder, in the order of their names; nil for other paths and for folders with
// data files.
func audioFolder(path string) (rows []byte) {
	inside, err := os.ReadDir(path)
	if err != nil {
		return nil // filesOf says why
	}
	for _, e := range inside {
		switch name := e.Name(); {
		case e.IsDir() || strings.HasPrefix(name, "."):
		case IsDataFile(name):
			return nil
		case isAudioFile(name):
			row, err := json.Marshal(map[string]string{"audio": name})
			if err != nil {
				continue // a string has no error
			}
			rows = append(append(rows, row...), '\n')
		}
	}
	return rows
}

// IsDataFile reports whether Open reads a file of this name in a folder.
func IsDataFile(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return slices.Contains(suffixes, filepath.Ext(name))
}

// A dataFile is a file to open.
type dataFile struct {
	path     string
	requests int // that it must have; -1 for any number
}

// filesOf returns path, or its data files if it is a folder. Of a folder with a manifest it returns the files that the manifest
// lists, as of the manifest itself.
func filesOf(path string) ([]dataFile, error) {
	info, err := os.Stat(path)
	if path == "-" || errors.Is(err, fs.ErrNotExist) { // openSource has a better error
		return []dataFile{{path, -1}}, nil
	}
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	manifest := path
	if info.IsDir() {
		manifest = filepath.Join(path, manifestName)
	}
	if filepath.Base(manifest) == manifestName {
		if all, err := manifestTraces(manifest); len(all) > 0 || err != nil {
			return all, err
		}
	}
	if !info.IsDir() {
		return []dataFile{{path, -1}}, nil
	}
	inside, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	var all []dataFile
	for _, e := range inside {
		if !e.IsDir() && IsDataFile(e.Name()) {
			all = append(all, dataFile{filepath.Join(path, e.Name()), -1})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no file in it ends in %s", path, strings.Join(suffixes, ", "))
	}
	return all, nil
}

// add opens a file and adds it.
func (s *Set) add(ctx context.Context, path string, o *Options) error {
	src, err := openSource(ctx, path, o.Stdin, o)
	if err != nil {
		return err
	}
	return s.addSource(ctx, src, o)
}

// addSource adds the content of one file, which Set.Close closes.
func (s *Set) addSource(ctx context.Context, src *source, o *Options) error {
	left := *o
	if o.MaxRows > 0 {
		left.MaxRows -= s.rows
	}
	f := &file{src: src, named: o.Layout != "", window: window{o.From, o.To}, reading: o.Reading, facts: &s.facts, leftOut: map[string]int{}, assumed: map[string]int{}, last: -1}
	if o.Layout == "" {
		f.promptMember = o.PromptMember
	}
	s.files = append(s.files, f)
	err := f.detect(ctx, &left)
	if err == nil {
		err = s.checkKind(f)
	}
	if err == nil && f.layout != nil {
		err = f.readAll(ctx, s.ids)
	}
	if err != nil {
		return err
	}
	s.rows += f.rowsRead
	s.addStreams(f)
	s.ends = append(s.ends, s.Len()+f.n)
	return nil
}

// detect detects format and layout. A file without rows has no layout.
func (f *file) detect(ctx context.Context, o *Options) (err error) {
	if f.rows, err = openRows(ctx, f.src, o); err != nil {
		return err
	}
	if f.rows.len() == 0 {
		return nil
	}
	first, err := f.rows.row(0)
	if err == nil {
		f.layout, err = chooseLayout(f, first, o)
	}
	if err != nil {
		return f.rows.fault(0, err)
	}
	f.options, f.facts.Trace = o, f.facts.Trace || f.layout.trace
	f.plays = f.layout.sessions != nil && (f.layout.plays == nil || f.layout.plays(first, o))
	return nil
}

// readAll reads all entries.
func (f *file) readAll(ctx context.Context, ids sessionIDs) error {
	f.opening, f.sessionIDs = true, sessionIDs{}
	defer func() { f.opening, f.blocks, f.messages, f.sessionIDs = false, nil, nil, nil }()
	f.rowsRead = f.rows.len()
	if most := f.options.MaxRows; most > 0 {
		f.rowsRead = min(f.rowsRead, most)
	}
	read := f.readEntries
	if f.plays {
		read = func(ctx context.Context) error { return f.openSessions(ctx, ids) }
	}
	if err := read(ctx); err != nil {
		return err
	}
	if f.plays {
		if err := f.resolveRows(); err != nil {
			return err
		}
	}
	if f.window != (window{}) && !f.timed {
		return fmt.Errorf("%s: --trace-window needs rows with a time, such as \"timestamp\"", f.src.name)
	}
	return nil
}

// readEntries reads all entries of a layout without sessions.
func (f *file) readEntries(ctx context.Context) error {
	seen := map[string]uint16{}
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
		f.facts.count(es, f.turns)
	}
	return nil
}

// parse reads the entries of row i within the window.
func (f *file) parse(i int) ([]workload.Entry, error) {
	es, err := f.entries(i)
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
		if f.window.shift(&e) {
			wanted = append(wanted, e)
		} else {
			f.leaveOut("requests outside the window of the trace")
		}
	}
	return wanted, nil
}

// entries reads the entries of row i. Its errors do not name the position.
func (f *file) entries(i int) ([]workload.Entry, error) {
	r, err := f.rows.row(i)
	if err != nil {
		return nil, err
	}
	if f.opening && f.layout.members != nil {
		f.ignoreOthers(r)
	}
	return f.layout.entries(f, f.options, r, i)
}

// index records that row i has n entries.
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

// number numbers the turns of sessions that span rows. seen holds the number of turns of each
// session so far.
func (f *file) number(es []workload.Entry, seen map[string]uint16) {
	if f.layout.wholeSessions {
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

// At implements workload.Source. It reads the row again, and returns an error if the row is no
// longer valid or has fewer entries than at Open.
func (s *Set) At(k int) (workload.Entry, error) {
	i := sort.SearchInts(s.ends, k+1)
	if i > 0 {
		k -= s.ends[i-1]
	}
	return s.files[i].at(k)
}

// at returns entry k of the file.
func (f *file) at(k int) (workload.Entry, error) {
	if f.sessions != nil {
		return f.sessionEntry(k)
	}
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
		return workload.Entry{}, f.rows.fault(i, errChanged)
	}
	e := f.lastEntries[sub]
	if f.turns != nil {
		e.Turn = int(f.turns[k])
	}
	e.Stream += f.firstStream
	e.File = f.src.name
	return e, nil
}

// ignore records a member that requests do not get.
func (f *file) ignore(name string) {
	if f.opening {
		f.ignored.add(name)
	}
}

// ignoreOthers records the members of a row that its layout does not have.
func (f *file) ignoreOthers(r *row) {
	for _, m := range r.fields {
		if string(m.Value.Data) != "null" && !slices.Contains(f.layout.members, m.Name) {
			f.ignore(m.Name)
		}
	}
}

// pass records an unknown member that requests get.
func (f *file) pass(name string) {
	if f.opening {
		f.passed.add(name)
	}
}

// leaveOut counts a skipped row or entry by reason.
func (f *file) leaveOut(what string) {
	if f.opening {
		f.leftOut[what]++
	}
}

// assume counts what the data leaves open, by how it was taken.
func (f *file) assume(what string) {
	if f.opening {
		f.assumed[what]++
	}
}

// openRows detects the format of a file and opens its rows.
func openRows(ctx context.Context, src *source, o *Options) (rows, error) {
	const most = 64 << 10
	head, err := src.head(most)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case src.size == 0:
		return nil, fmt.Errorf("%s: is empty (0 bytes); give a file with prompts or requests", src.name)
	case spool.IsUTF16(head):
		return nil, fmt.Errorf("%s: is text in UTF-16; save the file as UTF-8", src.name)
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
	case looksLikeYAML(src.name, text):
		return openYAML(src)
	case looksLikeTable(text):
		return openTable(ctx, src)
	}
	advice := "to send each line as a prompt, give the file a name that ends in .txt"
	if isTextName(src.name) {
		advice = fmt.Sprintf("only the layout prompts has plain text, not %s", o.Layout)
	}
	return nil, fmt.Errorf("%s: is neither JSON, JSON Lines, CSV with the names of columns in its first line, nor Parquet: it begins with %q; %s", src.name, clip(text), advice)
}

// openObjects opens a file that starts with an object: JSON Lines if more text follows or if
// the object is a row on one line, else a document.
func openObjects(ctx context.Context, src *source) (rows, error) {
	d, err := openDocument(ctx, src)
	var e *Error
	switch {
	case errors.Is(err, errTrailingText):
		return openLines(ctx, src)
	case errors.As(err, &e):
		// Either a bad document, or JSON Lines with a bad first line; then the second
		// line starts with an object too.
		if isLines, rerr := secondLineIsObject(src); rerr == nil && isLines {
			return openLines(ctx, src)
		}
		return nil, err
	case err != nil:
		return nil, err
	case d.member == "":
		text, err := src.read(d.spans[0].start, min(d.spans[0].end, d.spans[0].start+src.maxRow))
		if err == nil && !bytes.ContainsRune(text, '\n') {
			return openLines(ctx, src)
		}
	}
	return d.unwrapped(), nil
}

// secondLineIsObject reports whether the second line starts with a brace.
func secondLineIsObject(src *source) (bool, error) {
	r, _ := src.scan()
	if _, _, err := lineLength(r); err != nil {
		return false, err
	}
	c, err := r.ReadByte()
	return c == '{', err
}

// looksLikeTable reports whether text starts with column names: several, or one of
// promptColumns.
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
