package synth

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Config describes the prompts of a Source. Texts, Input, and one of Prompts and
// Sessions are required.
type Config struct {
	Texts *Texts
	Seed  uint64
	// Prompts is the number of different prompts.
	Prompts int
	// Input is the distribution of prompt lengths.
	Input LengthDistribution
	// Output is the distribution of requested output lengths; nil requests none.
	// With Exact the requests ask for that length exactly.
	Output LengthDistribution
	Exact  bool

	// More is the number of texts after the first one of a prompt, with lengths of
	// the same distribution: further inputs, or the texts to rank.
	More int

	// Prefixes is the number of shared prefixes; 0 means none. In a session only the
	// first prompt has one. A prefix adds PrefixTokens tokens to the prompt.
	Prefixes     int
	PrefixTokens int

	// Sessions is the number of conversations; Prompts is then 0. Turns is the
	// distribution of the number of prompts in a session; nil means one prompt.
	// Delay is the think time after each answer but the last; nil means none.
	Sessions int
	Turns    LengthDistribution
	Delay    *Delay
}

// Delay is a normal distribution of times. Negative values become 0.
type Delay struct{ Mean, Stddev time.Duration }

// Validate reports negative parameters.
func (d *Delay) Validate() error {
	if d.Mean < 0 {
		return fmt.Errorf("mean %v: must not be negative", d.Mean)
	}
	if d.Stddev < 0 {
		return fmt.Errorf("standard deviation %v: must not be negative", d.Stddev)
	}
	return nil
}

// draw returns a random time of at least 0.
func (d *Delay) draw(r *rand.Rand) time.Duration {
	ns := math.Round(float64(d.Mean) + float64(d.Stddev)*r.NormFloat64())
	return time.Duration(max(0, min(ns, math.MaxInt64/2)))
}

const (
	// maxEntries bounds the number of prompts, so that a typing error does not exhaust
	// the memory. Text i of prompt k has the number k + i × maxEntries.
	maxEntries = 1 << 28
	// maxMore bounds Config.More, and the media of a prompt of each kind.
	maxMore = 1 << 16
)

// A Source is a workload.Source of synthetic prompts.
type Source struct {
	c    Config
	ends []uint32 // for each session the number of prompts up to its end; nil without sessions
}

var _ workload.Source = (*Source)(nil)

// Validate reports all mistakes of c at once.
func (c *Config) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check := func(what string, l LengthDistribution) {
		if l == nil {
			return
		}
		if err := l.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	add(c.Texts == nil, "no texts")
	add(c.More > 0 && c.Texts != nil && c.Texts.vocab.draw != nil, "%d texts more: prompts of token ids hold one text each", c.More)
	add(c.Input == nil, "no lengths of prompts")
	add(c.Exact && c.Output == nil, "exact lengths of answers need a length")
	add(c.Prompts < 0 || c.Prompts > maxEntries, "%d prompts: must be from 1 to %d", c.Prompts, maxEntries)
	add(c.Sessions < 0 || c.Sessions > maxEntries, "%d sessions: must be from 1 to %d", c.Sessions, maxEntries)
	add((c.Prompts > 0) == (c.Sessions > 0), "%d prompts and %d sessions: one of them must be 0, the other not", c.Prompts, c.Sessions)
	add(c.More < 0 || c.More > maxMore, "%d texts more: must be from 0 to %d", c.More, maxMore)
	add(c.Prefixes < 0, "%d prefixes: must not be negative", c.Prefixes)
	if c.Prefixes > 0 {
		if err := positive("a prefix's length", c.PrefixTokens); err != nil {
			errs = append(errs, err)
		}
	}
	check("lengths of prompts", c.Input)
	check("lengths of answers", c.Output)
	check("turns", c.Turns)
	if c.Delay != nil {
		if err := c.Delay.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("delay: %w", err))
		}
	}
	return errors.Join(errs...)
}

// New returns a source. It returns the error of c.Validate.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Source{c: c}
	total := uint64(0)
	for i := range c.Sessions {
		turns := 1
		if c.Turns != nil {
			turns = c.Turns.Draw(source(c.Seed, forTurns, uint64(i)))
		}
		if total += uint64(turns); total > maxEntries {
			return nil, fmt.Errorf("the sessions have more than %d prompts", maxEntries)
		}
		s.ends = append(s.ends, uint32(total))
	}
	return s, nil
}

// Len implements workload.Source.
func (s *Source) Len() int {
	if s.ends != nil {
		return int(s.ends[len(s.ends)-1])
	}
	return s.c.Prompts
}

// At implements workload.Source. It returns an error if no text of the length exists for
// the tokenizer.
func (s *Source) At(k int) (workload.Entry, error) {
	e := workload.Entry{Step: k}
	session := k
	if s.ends != nil {
		session = sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > uint32(k) })
		first := 0
		if session > 0 {
			first = int(s.ends[session-1])
		}
		e.Session, e.Turn = fmt.Sprintf("session-%d", session), k-first
		if s.c.Delay != nil && k+1 < int(s.ends[session]) {
			e.Delay = s.c.Delay.draw(source(s.c.Seed, forDelay, uint64(k)))
		}
	}
	p := &workload.Prompt{}
	e.Prompt = p
	if s.c.Output != nil {
		p.MaxTokens, p.Exact = OutputTokens(s.c.Output, s.c.Seed, k), s.c.Exact
	}
	for place := range 1 + s.c.More {
		text, ids, err := s.text(k, place, session, e.Turn)
		switch {
		case err != nil:
			return e, fmt.Errorf("synthetic prompt %d: %w", k+1, err)
		case place > 0:
			p.More, p.IDs = append(p.More, text), nil
		default:
			p.Text, p.IDs = text, ids
		}
	}
	return e, nil
}

// text returns the text at a place of prompt k: 0 for the first text, then Config.More.
func (s *Source) text(k, place, session, turn int) (string, []uint32, error) {
	number, group := uint64(k)|uint64(place)*maxEntries, uint64(session)|uint64(place)*maxEntries
	tokens := s.c.Input.Draw(source(s.c.Seed, forInput, number))
	if s.c.Prefixes == 0 || turn > 0 {
		return s.c.Texts.Text(number, tokens)
	}
	prefix := source(s.c.Seed, forPrefix, group).IntN(s.c.Prefixes)
	return s.c.Texts.After(uint64(prefix), s.c.PrefixTokens, number, tokens)
}

// OutputTokens draws the output length to request for entry k.
func OutputTokens(l LengthDistribution, seed uint64, k int) int {
	return l.Draw(source(seed, forOutput, uint64(k)))
}
