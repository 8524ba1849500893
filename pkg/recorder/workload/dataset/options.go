package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Options control the reading of files. The zero value detects everything.
type Options struct {
	// Layout is the layout of the rows, one of [Layouts]; "" detects it.
	Layout string
	// Texts generates the prompts of traces that hold only lengths; nil makes such traces
	// an error.
	Texts Texts
	// Count counts the tokens of a reply in the data; the count becomes the requested output
	// length. Nil requests none.
	Count func(text string) int
	// Sessions makes each turn of a conversation an entry. Otherwise only the first turn
	// is one.
	Sessions bool
	// RecordedHistory makes the turns of a conversation whole requests, with the answers of the data as history, where the data
	// has them beside its turns. Otherwise the live answers are the history.
	RecordedHistory bool
	// OnlyKnown leaves out the members of a prompt's row that are not known to be members of
	// requests. Otherwise they are sent as they are.
	OnlyKnown bool
	// PromptMember is the member in which requests of the endpoint hold their prompt: "messages",
	// "prompt" or "input". A row without it is no whole request. "" accepts each of them.
	PromptMember string
	// TraceRows tells what later turns hold in traces of Mooncake; the zero value decides by
	// their content.
	TraceRows TraceRows
	// From and To select a part of a trace by times since its start; To 0 means its end.
	// The schedule then starts at From.
	From, To time.Duration
	// BlockTokens is the number of tokens in the block of a hash id in a trace. 0 means the
	// default of the trace: 512, or 16 for Bailian.
	BlockTokens int

	// Delays are the delays of sessions that Facts counts. The sessions themselves keep theirs.
	Delays workload.Delays

	// MaxRows is the number of rows to read in all files together; 0 reads all.
	MaxRows int
	// MaxRowBytes bounds a row; 0 means 64 MiB.
	MaxRowBytes int64
	// Reading, if not nil, is called while the files are opened, with the path of each further
	// file that a row names, such as an image. Its error is the error of the row.
	Reading func(path string) error
	// MaxSessionRequests bounds the requests of a session whose conversations begin others again and again; 0 means 100,000.
	MaxSessionRequests int
	// Spool configures the temporary files.
	Spool spool.Config
	// Stdin is the input for the path "-"; nil makes that path an error.
	Stdin io.Reader

	further []layout // tried before the others; of tests
}

// TraceRows tells what the row of a later turn holds in a trace of conversations.
type TraceRows string

// The kinds of TraceRows.
const (
	// RowsByContent takes a row as the whole prompt if its hash ids begin with the ids of the turn
	// before, else as the new part. Without such ids it is an error.
	RowsByContent TraceRows = ""
	RowsWhole     TraceRows = "whole" // a row is the whole prompt, with the history
	RowsNew       TraceRows = "new"   // a row is what the turn adds to the history
)

// Texts generates prompts of a given length. Equal arguments must give equal results. Calls
// may overlap once sessions are open.
type Texts interface {
	// Text returns a text of this many tokens, and their ids. Different numbers give
	// different texts.
	Text(number uint64, tokens int) (text string, ids []uint32, err error)
	// Blocks returns a text of this many tokens, in one block of size tokens for each id;
	// the last block may be shorter. Equal first ids give equal first blocks.
	Blocks(blocks []int64, size, tokens int) (text string, ids []uint32, err error)
	// Scoped returns a text of len(blocks) × size + rest tokens: a block of size tokens for each id, which
	// depends only on the scope and the id, then rest tokens, which depend on the scope and number.
	Scoped(scope string, blocks []int64, size int, number uint64, rest int) (text string, ids []uint32, err error)
	// Parts returns a text of parts: names[i] is the name of part i, and tokens[i] its length, at least 1. Parts of one name and
	// one length are equal.
	Parts(names []uint64, tokens []int) (text string, ids []uint32, err error)
}

func (o *Options) maxRow() int64 {
	if o.MaxRowBytes > 0 {
		return o.MaxRowBytes
	}
	return defaultMaxRowBytes
}

// mostRequests is the default of Options.MaxSessionRequests.
const mostRequests = 100_000

func (o *Options) mostRequests() int {
	if o.MaxSessionRequests > 0 {
		return o.MaxSessionRequests
	}
	return mostRequests
}

// Validate reports all mistakes of o at once.
func (o *Options) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(o.Layout != "" && findLayout(o.Layout) == nil, "unknown layout %q; expected one of %s", o.Layout, strings.Join(Layouts(), ", "))
	add(o.From < 0, "the window of a trace begins at %v, but must not begin before 0", o.From)
	add(o.To != 0 && o.To <= o.From, "the window of a trace ends at %v, but must end after its start at %v", o.To, o.From)
	add(o.BlockTokens < 0, "%d tokens in a block: must be at least 1", o.BlockTokens)
	add(o.MaxRows < 0, "the first %d rows: must be at least 1", o.MaxRows)
	add(o.MaxRowBytes < 0, "rows of %d bytes: must be positive", o.MaxRowBytes)
	add(o.MaxSessionRequests < 0, "%d requests of a session: must be positive", o.MaxSessionRequests)
	return errors.Join(errs...)
}
