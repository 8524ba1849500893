package resultfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// A Kind is a kind of file in which a tool keeps its requests.
type Kind struct {
	Name string // for messages
	// Sniff reports whether a file that starts like this is of the kind.
	Sniff func(*Outline) bool
	// Open reads the part before the first request. Its errors need not name the
	// file's end: see failed.
	Open func(*File) (*export.Run, Source, error)
	// Beside lists the files that the tool writes beside it.
	Beside []Neighbour
	// Stated lists the files in which the tool states figures: its result files without requests, and its summaries.
	Stated []Statement
}

// Formats returns the formats of these kinds for [export.Opener]. The first recognizes the files
// beside, because some of them look like a file with requests.
func Formats(kinds ...Kind) []export.Format {
	var beside []Neighbour
	var statements []Statement
	for _, k := range kinds {
		beside = append(beside, k.Beside...)
		statements = append(statements, k.Stated...)
	}
	all := []export.Format{&format{Kind{
		Sniff: func(o *Outline) bool { return neighbourOf(beside, o) != nil },
		Open:  func(f *File) (*export.Run, Source, error) { return nil, nil, NoRequests(refuse(beside, f)) },
	}, statements}}
	for _, k := range kinds {
		if k.Open != nil {
			all = append(all, &format{k, statements})
		}
	}
	return append(all, &format{Kind{
		Sniff: func(o *Outline) bool {
			return slices.ContainsFunc(statements, func(s Statement) bool { return s.Sniff != nil && s.Sniff(o) })
		},
		Open: func(f *File) (*export.Run, Source, error) {
			return nil, nil, NoRequests(fmt.Errorf("%s: holds figures of a tool and no requests; report, diff and convert show them", f.Name))
		},
	}, statements})
}

// A format makes a Kind an export.Format. statements are the kinds of files that state figures.
type format struct {
	kind       Kind
	statements []Statement
}

var _ export.Format = (*format)(nil)

// Name returns the format's name for messages; "" for a format that is recognized only
// to be refused.
func (f *format) Name() string { return f.kind.Name }

// Sniff reports whether head starts such a file.
func (f *format) Sniff(head []byte) bool { return f.kind.Sniff(outlineOf(head)) }

// Open reads the header.
func (f *format) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	x := NewFile(ctx, name, src, size, lim)
	run, s, err := f.kind.Open(x)
	if errors.As(err, new(noRequests)) {
		return nil, stateFigures(x, f.statements, err)
	}
	if err != nil {
		return nil, x.failed(err, "what comes before the first request", true)
	}
	x.ctx = context.WithoutCancel(ctx)
	return NewReader(x, run, s), nil
}

// A File is the file that is read, by as many cursors as its layout needs.
type File struct {
	ctx   context.Context
	Name  string
	Src   io.ReaderAt
	size  int64 // bytes
	limit int64 // bytes of the largest value
}

// NewFile returns a file of size bytes at src.
func NewFile(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) *File {
	return &File{ctx: ctx, Name: name, Src: src, size: size, limit: lim.ValueBytes()}
}

// ColumnChunk is the window of one of many cursors in a file.
const ColumnChunk = 64 << 10

// Cursor returns a new cursor at offset pos of the file.
func (f *File) Cursor(pos int64, chunk int) *jsonscan.Cursor {
	c := jsonscan.NewCursor(f.Name, f.Src, f.size, f.limit, chunk)
	c.Pos = pos
	c.Python = true
	c.Check = func() error { return context.Cause(f.ctx) }
	return &c
}

// Start returns a cursor behind the byte order mark that the file may have.
func (f *File) Start() (*jsonscan.Cursor, error) {
	c := f.Cursor(0, jsonscan.DefaultChunk)
	bom, err := c.BOM()
	if bom {
		c.Pos = 3
	}
	return c, err
}

// CountText returns how often pattern is in the file.
func (f *File) CountText(pattern string) (n int64, err error) {
	buf := make([]byte, jsonscan.DefaultChunk)
	kept := 0 // bytes of the last chunk in front, in which a pattern may begin
	for at := int64(0); at < f.size; {
		if err := context.Cause(f.ctx); err != nil {
			return n, err
		}
		got, err := f.Src.ReadAt(buf[kept:min(int64(len(buf)), int64(kept)+f.size-at)], at)
		if got == 0 {
			return n, fmt.Errorf("read %s at byte %d: %w", f.Name, at, err)
		}
		at += int64(got)
		b := buf[:kept+got]
		n += int64(bytes.Count(b, []byte(pattern)))
		kept = copy(buf, b[max(0, len(b)-len(pattern)+1):])
	}
	return n, nil
}

// failed turns the end of the file into an *export.CutError; nothing says that no
// request was read before it.
func (f *File) failed(err error, where string, nothing bool) error {
	if errors.Is(err, jsonscan.ErrCut) {
		return &export.CutError{Name: f.Name, Offset: f.size, Where: where, Nothing: nothing}
	}
	return err
}

// An Outline is the layout that the start of a file shows.
type Outline struct {
	// Array says that the object is the first element of an array.
	Array bool
	// Names are the names of the object's members in head, in order.
	Names []string
	// inner are the names of the members of the first member that is an
	// object, and first is that member's name.
	First string
	inner []string
	// elements are the names of the members of the first element of each
	// member that is an array of objects, by that member's name.
	elements map[string][]string
	Head     []byte // first bytes of the file
}

// Has reports whether the object has members of all these names.
func (o *Outline) Has(names ...string) bool { return containsAll(o.Names, names) }

// HasInner does the same for the first member that is an object.
func (o *Outline) HasInner(names ...string) bool { return containsAll(o.inner, names) }

// HasElement does the same for the first element of the array of that name.
func (o *Outline) HasElement(array string, names ...string) bool {
	return !o.Array && containsAll(o.elements[array], names)
}

// Only reports whether the object has this one member.
func (o *Outline) Only(name string) bool { return len(o.Names) == 1 && o.Names[0] == name }

func containsAll(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(all, w) })
}

// outlineOf looks at the start of a file.
func outlineOf(head []byte) *Outline {
	b := []byte(strings.TrimPrefix(string(head), "\ufeff"))
	o := &Outline{elements: map[string][]string{}, Head: b}
	i := jsonscan.SkipSpace(b, 0)
	if i < len(b) && b[i] == '[' {
		o.Array = true
		i = jsonscan.SkipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '{' {
		return o
	}
	var arena jsonscan.Arena
	arena.Reset(2 * len(b))
	o.Names = members(b, i, &arena, func(name string, at int) {
		if o.First == "" && b[at] == '{' {
			o.First = name
			o.inner = members(b, at, &arena, nil)
		}
		if b[at] != '[' {
			return
		}
		if element := jsonscan.SkipSpace(b, at+1); element < len(b) && b[element] == '{' {
			o.elements[name] = members(b, element, &arena, nil)
		}
	})
	return o
}

// members returns the names of the members of the object at b[i] as far as they
// can be seen, and calls seen with each and where its value starts.
func members(b []byte, i int, arena *jsonscan.Arena, seen func(name string, at int)) []string {
	var names []string
	i++
	for first := true; ; first = false {
		key, at, more, err := arena.Key(b, i, first)
		if err != nil || !more {
			return names
		}
		names = append(names, string(key))
		if seen != nil {
			seen(names[len(names)-1], at)
		}
		if i, _, err = jsonscan.PythonValue(b, at); err != nil {
			return names
		}
	}
}

// A Neighbour is a kind of file that a tool writes beside its file of requests, and that
// users can name by mistake.
type Neighbour struct {
	Is func(*Outline) bool
	// its kind and contents, and the file to give instead.
	What, Holds, Give string
}

// Neighbours completes the neighbours of a tool's file of requests: What is the name of a file, unless it names the
// tool already, and give is the file to give.
func Neighbours(tool, give string, all []Neighbour) []Neighbour {
	for i := range all {
		if !strings.Contains(all[i].What, tool) {
			all[i].What += " of " + tool
		}
		all[i].Give = give
	}
	return all
}

// neighbourOf returns the kind of neighbour that a file is, the first in the list; nil for none.
func neighbourOf(neighbours []Neighbour, o *Outline) *Neighbour {
	for i := range neighbours {
		if neighbours[i].Is(o) {
			return &neighbours[i]
		}
	}
	return nil
}

// refuse returns the error for a file that is one of the neighbours.
func refuse(neighbours []Neighbour, f *File) error {
	head := make([]byte, min(f.size, 4<<10))
	if _, err := f.Src.ReadAt(head, 0); err != nil && int64(len(head)) != f.size {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	n := neighbourOf(neighbours, outlineOf(head))
	if n == nil {
		return fmt.Errorf("%s: changed while it was opened; try again", f.Name)
	}
	return fmt.Errorf("%s: is %s, which holds %s and no requests; give %s", f.Name, n.What, n.Holds, n.Give)
}
