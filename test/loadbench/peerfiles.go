//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A clock says what the receive times of a recording count from.
type clock int

const (
	unixClock   clock = iota // 1970, as the server's stamps
	runClock                 // an instant of the run that the client does not save
	answerClock              // the first token of the same answer
)

// A tokenTimes holds when the tokens of an answer were sent and received, in ns.
type tokenTimes struct {
	sent     []int64 // Unix nanoseconds, as the tokens' text says
	received []int64 // on the recording's clock
}

// A recorded is what a client recorded of a run.
type recorded struct {
	clock   clock
	answers []tokenTimes
}

// complete returns an error unless there are that many answers of that many tokens.
func (r *recorded) complete(answers, tokens int) error {
	if len(r.answers) != answers {
		return fmt.Errorf("expected %d recorded answers, found %d", answers, len(r.answers))
	}
	for i, a := range r.answers {
		if len(a.sent) != tokens || len(a.received) != tokens {
			return fmt.Errorf("answer %d: expected %d tokens and times, found %d and %d", i, tokens, len(a.sent), len(a.received))
		}
	}
	return nil
}

// lastSent returns when the server sent the last token of the run.
func (r *recorded) lastSent() int64 {
	last := int64(math.MinInt64)
	for _, a := range r.answers {
		last = max(last, slices.Max(a.sent))
	}
	return last
}

// figures returns the errors of the times and of the gaps between them, and the rate that the streams kept.
//
// A recording on the clock of its run is moved so that the fastest token of the median answer has no error. So its errors
// lack what even that token took. The median is not moved by the few answers for which vLLM's client saves a start that is
// milliseconds off.
func (r *recorded) figures() figures {
	var errs, gaps []float64
	var offset int64
	if r.clock == runClock && len(r.answers) > 0 {
		fastest := make([]int64, 0, len(r.answers))
		for _, a := range r.answers {
			least := int64(math.MaxInt64)
			for i, at := range a.received {
				least = min(least, at-a.sent[i])
			}
			fastest = append(fastest, least)
		}
		slices.Sort(fastest)
		offset = fastest[(len(fastest)-1)/2]
	}
	var steps, took int64
	for _, a := range r.answers {
		for i, at := range a.received {
			if r.clock != answerClock {
				errs = append(errs, math.Abs(float64(at-a.sent[i]-offset))/1e3)
			}
			if i > 0 {
				gaps = append(gaps, math.Abs(float64((at-a.received[i-1])-(a.sent[i]-a.sent[i-1])))/1e3)
			}
		}
		if last := len(a.received) - 1; last > 0 {
			steps += int64(last)
			took += a.received[last] - a.received[0]
		}
	}
	f := figures{}
	setErrors(f, errs, nil)
	slices.Sort(gaps)
	f[gapP99], f[gapP999] = quantile(gaps, 0.99), quantile(gaps, 0.999)
	if took > 0 {
		f[keptRate] = 100 * float64(steps) * float64(gap) / float64(took)
	}
	return f
}

// A peerResult holds the used members of the detailed result of vLLM's and SGLang's clients. Times are in seconds.
type peerResult struct {
	StartTimes []float64   `json:"start_times"` // since the start of the run; vLLM only
	TTFTs      []float64   `json:"ttfts"`
	ITLs       [][]float64 `json:"itls"`
	Texts      []string    `json:"generated_texts"`
	Errors     []string    `json:"errors"`
}

// readVLLM reads the file that vLLM's client writes with --save-detailed.
func readVLLM(r io.Reader) (recorded, error) {
	return readPeer(r, runClock)
}

// readSGLang reads the first line of the file that SGLang's client writes with --output-details.
func readSGLang(r io.Reader) (recorded, error) {
	return readPeer(r, answerClock)
}

func readPeer(r io.Reader, c clock) (recorded, error) {
	var p peerResult
	if err := json.NewDecoder(r).Decode(&p); err != nil {
		return recorded{}, err
	}
	if len(p.ITLs) != len(p.TTFTs) || len(p.Texts) != len(p.TTFTs) || c == runClock && len(p.StartTimes) != len(p.TTFTs) {
		return recorded{}, fmt.Errorf("expected as many ttfts as itls, generated_texts and start_times, found %d, %d, %d and %d",
			len(p.TTFTs), len(p.ITLs), len(p.Texts), len(p.StartTimes))
	}
	rec := recorded{clock: c}
	for i, text := range p.Texts {
		if i < len(p.Errors) && p.Errors[i] != "" {
			return recorded{}, fmt.Errorf("request %d failed: %s", i, p.Errors[i])
		}
		at := 0.0
		if c == runClock {
			at = p.StartTimes[i] + p.TTFTs[i]
		}
		a, err := answerOf(at, p.ITLs[i], text)
		if err != nil {
			return recorded{}, fmt.Errorf("request %d: %w", i, err)
		}
		rec.answers = append(rec.answers, a)
	}
	return rec, nil
}

// answerOf returns the answer with a text of stamps whose first chunk came at a time, and the others after the gaps. The
// first chunk has the first token, or only the role, as the number of gaps tells.
func answerOf(at float64, gaps []float64, text string) (a tokenTimes, err error) {
	for stamp := range strings.FieldsSeq(text) {
		ns, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil || len(stamp) != stampDigits {
			return a, fmt.Errorf("text: %q is no time that the server wrote", stamp)
		}
		a.sent = append(a.sent, ns)
	}
	switch len(a.sent) {
	case 0:
		return a, errors.New("no token")
	case len(gaps) + 1:
		a.received = append(a.received, nanoseconds(at))
	case len(gaps):
	default:
		return a, fmt.Errorf("%d tokens and %d times between chunks", len(a.sent), len(gaps))
	}
	for _, g := range gaps {
		at += g
		a.received = append(a.received, nanoseconds(at))
	}
	return a, nil
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }
