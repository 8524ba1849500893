package settings

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// perf_analyzer's defaults.
const (
	defaultSequenceLength    = 20
	defaultSequenceVariation = 20.0 // percent
)

// sequenceFlags returns the flags for sequences of requests to stateful models.
func sequenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "num-of-sequences", Category: catSequence, Usage: "`N` sequences at a time when the load is a rate; of a concurrency, each request in flight has its own", Value: load.DefaultLiveSequences},
		&cli.IntFlag{Name: "sequence-length", Category: catSequence, Usage: "`N` requests in a sequence", DefaultText: "the steps of its stream of input data; 20 for made-up tensors"},
		&cli.Float64Flag{Name: "sequence-length-variation", Category: catSequence, Usage: "more or fewer by up to `PCT` %, unless each stream is sent once", Value: defaultSequenceVariation},
		&cli.StringFlag{Name: "sequence-id-range", Category: catSequence, Usage: "ids of sequences are in `FIRST:LAST`", DefaultText: "1:4294967295"},
		&cli.BoolFlag{Name: "serial-sequences", Category: catSequence, Usage: "accepted for perf_analyzer's sake: of a sequence one request is in flight at most"},
	}
}

// sequenceSettings holds the settings of the sequences for a stateful model.
type sequenceSettings struct {
	Live      int      `json:"num_of_sequences,omitempty"`
	Length    int      `json:"sequence_length,omitempty"`
	Variation *float64 `json:"sequence_length_variation,omitempty"` // percent
	IDs       string   `json:"sequence_id_range,omitempty"`

	asked load.Sequences
}

// IsZero reports whether nothing was said of sequences.
func (q sequenceSettings) IsZero() bool {
	return q.Live == 0 && q.Length == 0 && q.Variation == nil && q.IDs == ""
}

func (p *parser) sequences(s *Settings) {
	c, q := p.c, &s.Sequence
	if c.IsSet("num-of-sequences") {
		q.Live = p.positive("num-of-sequences", c.Int("num-of-sequences"))
	}
	if c.IsSet("sequence-length") {
		if q.Length = c.Int("sequence-length"); q.Length < 1 {
			s.Note("--sequence-length %d: must be at least 1; it is %d", q.Length, defaultSequenceLength)
			q.Length = defaultSequenceLength
		}
	}
	variation := c.Float64("sequence-length-variation")
	if c.IsSet("sequence-length-variation") {
		if q.Variation = &variation; !(variation >= 0) {
			p.errorf("--sequence-length-variation %v: must not be negative", variation)
		}
	}
	q.asked = load.Sequences{Live: q.Live, Length: q.Length, Variation: variation / 100}
	if q.IDs = c.String("sequence-id-range"); q.IDs != "" {
		var err error
		if q.asked.First, q.asked.Last, err = parseIDs(q.IDs); err != nil {
			p.errorf("--sequence-id-range %s: %w", q.IDs, err)
		}
	}
	if !q.IsZero() && s.ServiceKind != Triton {
		p.errorf("sequences are for Triton's models that keep state; drop --num-of-sequences and --sequence-…")
	}
}

// resolve returns the sequences for data that is read from files, or made up: a file
// says itself how long they are.
func (q *sequenceSettings) resolve(files bool, seed uint64) load.Sequences {
	r := q.asked
	if r.Seed = seed; r.Length == 0 && !files {
		r.Length = defaultSequenceLength
	}
	return r
}

// Sequences returns the sequences of the load. files reports whether the data is read
// from files, which say themselves how long their sequences are.
func (s *Settings) Sequences(files bool) load.Sequences {
	return s.Sequence.resolve(files, s.Seed)
}

// parseIDs reads FIRST:LAST, or FIRST alone.
func parseIDs(text string) (first, last uint64, err error) {
	a, b, bounded := strings.Cut(text, ":")
	number := func(s string) (uint64, error) {
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
		switch {
		case err != nil || n > math.MaxInt64:
			return 0, errors.New("expected FIRST:LAST, whole numbers such as 1:1000")
		case n == 0:
			return 0, errors.New("0 means no sequence; begin with 1")
		}
		return n, nil
	}
	if first, err = number(a); err != nil || !bounded {
		return first, 0, err
	}
	if last, err = number(b); err == nil && last < first {
		err = errors.New("the first id is above the last")
	}
	return first, last, err
}
