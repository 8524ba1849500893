package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/spool"
)

// Options say how files are read. The zero value finds everything out by itself.
type Options struct {
	// Layout names the layout of the rows, one of [Layouts]; "" is found out.
	Layout string
	// Texts makes the prompts of traces, which hold only their lengths; nil is
	// an error for those.
	Texts Texts
	// Count counts the tokens of the reply that the data has to a prompt: the
	// length to be asked of the answer. nil asks for none.
	Count func(text string) int
	// Sessions makes an entry of each turn of a conversation; else it gives one,
	// of the first.
	Sessions bool
	// KeepColumns passes what is no known member of a request on with it, as
	// GenAI-Perf does; else it is left out.
	KeepColumns bool
	// From and To are the part of a trace to be read, as times since its
	// beginning; To 0 is its end. Its schedule begins at From.
	From, To time.Duration
	// BlockTokens is how many tokens one hash id of a trace stands for; 0 means
	// what the trace is known for: 512, or 16 in those of Bailian.
	BlockTokens int

	// MaxRows ends reading after the first so many rows of all files; 0 reads all.
	MaxRows int
	// MaxRowBytes bounds a row; 0 means 64 MiB.
	MaxRowBytes int64
	// Spool says where what cannot be read in place is kept.
	Spool spool.Config
	// Stdin is what the path "-" stands for; nil means that there is none.
	Stdin io.Reader
}

// Texts makes prompts of a given length. It must be safe for use by one
// goroutine at a time, and make the same of the same arguments.
type Texts interface {
	// Text returns a text of that many tokens, and those; one of another number
	// is another text.
	Text(number uint64, tokens int) (text string, ids []uint32, err error)
	// Blocks returns a text of that many tokens in blocks of a size, one for
	// each id, the last of which may be shorter. Texts whose first ids are equal
	// begin with the same tokens.
	Blocks(blocks []int64, size, tokens int) (text string, ids []uint32, err error)
}

func (o *Options) maxRow() int64 {
	if o.MaxRowBytes > 0 {
		return o.MaxRowBytes
	}
	return DefaultMaxRowBytes
}

// Validate reports all mistakes of o at once.
func (o *Options) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(o.Layout != "" && findLayout(o.Layout) == nil, "unknown layout %q; it is one of %s", o.Layout, strings.Join(Layouts(), ", "))
	add(o.From < 0, "the window of a trace begins at %v; it cannot before 0", o.From)
	add(o.To != 0 && o.To <= o.From, "the window of a trace ends at %v, not after its begin at %v", o.To, o.From)
	add(o.BlockTokens < 0, "%d tokens in a block: must be at least 1", o.BlockTokens)
	add(o.MaxRows < 0, "the first %d rows: must be at least 1", o.MaxRows)
	add(o.MaxRowBytes < 0, "rows of %d bytes: must be positive", o.MaxRowBytes)
	return errors.Join(errs...)
}
