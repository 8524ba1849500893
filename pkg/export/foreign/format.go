package foreign

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// Formats returns the formats of this package for [export.Opener].
func Formats() []export.Format {
	return []export.Format{
		&format{"", sniffNeighbour, openNeighbour}, // first, because some look like the files beside them
		&format{aiperfName, sniffAIPerf, openAIPerf},
		&format{guideLLMName, sniffGuideLLM, openGuideLLM},
		&format{infPerfName, sniffInferencePerf, openInferencePerf},
		&format{endpointsName, sniffEndpoints, openEndpoints},
		&format{"the result of vllm bench serve, TensorRT-LLM's benchmark_serving or SGLang's bench_serving", sniffServing, openServing},
		&format{llmPerfName, sniffLLMPerf, openLLMPerf},
	}
}

// A format is one kind of file.
type format struct {
	name  string
	sniff func(*outline) bool
	// open reads the part before the first request. Its errors need not name the
	// file's end: see failed.
	open func(*file) (*export.Run, source, error)
}

var _ export.Format = (*format)(nil)

// Name returns the format's name for messages; "" for a format that is recognized only
// to be refused.
func (f *format) Name() string { return f.name }

// Sniff reports whether head starts such a file.
func (f *format) Sniff(head []byte) bool { return f.sniff(outlineOf(head)) }

// Open reads the header.
func (f *format) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	x := &file{ctx: ctx, name: name, src: src, size: size, limit: lim.MaxValueBytes}
	run, s, err := f.open(x)
	if err != nil {
		return nil, x.failed(err, "what comes before the first request", true)
	}
	x.ctx = context.WithoutCancel(ctx)
	return newReader(x, run, s), nil
}

// A file is the file that is read, by as many cursors as its layout needs.
type file struct {
	ctx   context.Context
	name  string
	src   io.ReaderAt
	size  int64
	limit int64
}

// columnChunk is the window of one of many cursors in a file.
const columnChunk = 64 << 10

// cursor returns a new cursor at offset pos of the file.
func (f *file) cursor(pos int64, chunk int) *jsonfile.Cursor {
	c := jsonfile.NewCursor(f.name, f.src, f.size, f.limit, chunk)
	c.Pos = pos
	c.Python = true
	c.Check = func() error { return context.Cause(f.ctx) }
	return &c
}

// start returns a cursor behind the byte order mark that the file may have.
func (f *file) start() (*jsonfile.Cursor, error) {
	c := f.cursor(0, jsonfile.DefaultChunk)
	bom, err := c.BOM()
	if bom {
		c.Pos = 3
	}
	return c, err
}

// failed turns the end of the file into an *export.CutError; nothing says that no
// request was read before it.
func (f *file) failed(err error, where string, nothing bool) error {
	if errors.Is(err, jsonfile.ErrCut) {
		return &export.CutError{Name: f.name, Offset: f.size, Where: where, Nothing: nothing}
	}
	return err
}

// An outline is the layout that the start of a file shows.
type outline struct {
	// array says that the object is the first element of an array.
	array bool
	// names are the names of the object's members in head, in order.
	names []string
	// inner are the names of the members of the first member that is an
	// object, and first is that member's name.
	first string
	inner []string
	// elements are the names of the members of the first element of each
	// member that is an array of objects, by that member's name.
	elements map[string][]string
	head     []byte // first bytes of the file
}

// has reports whether the object has members of all these names.
func (o *outline) has(names ...string) bool { return containsAll(o.names, names) }

// hasInner does the same for the first member that is an object.
func (o *outline) hasInner(names ...string) bool { return containsAll(o.inner, names) }

// hasElement does the same for the first element of the array of that name.
func (o *outline) hasElement(array string, names ...string) bool {
	return !o.array && containsAll(o.elements[array], names)
}

// only reports whether the object has this one member.
func (o *outline) only(name string) bool { return len(o.names) == 1 && o.names[0] == name }

func containsAll(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(all, w) })
}

// outlineOf looks at the start of a file.
func outlineOf(head []byte) *outline {
	b := []byte(strings.TrimPrefix(string(head), "\ufeff"))
	o := &outline{elements: map[string][]string{}, head: b}
	i := jsonscan.SkipSpace(b, 0)
	if i < len(b) && b[i] == '[' {
		o.array = true
		i = jsonscan.SkipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '{' {
		return o
	}
	var arena jsonscan.Arena
	arena.Reset(2 * len(b))
	o.names = members(b, i, &arena, func(name string, at int) {
		if o.first == "" && b[at] == '{' {
			o.first = name
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
