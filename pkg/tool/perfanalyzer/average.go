package perfanalyzer

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// AverageFirstToken writes the line that perf_analyzer's example script
// calculate_avg_first_token_latency.py prints (2023-09 to 2024-03), without a
// line end: "Average first-token latency: 0.3065654714375 s".
//
// It is the mean of first response − timestamp over all requests of the first
// experiment that perf_analyzer would have exported. Responses are not looked
// at: a role-only event or an empty final response is a token to it. The
// arithmetic is Python's: an exact integer sum, one correctly rounded division
// by the count, one by 10⁹, printed as repr does.
//
// It reads r to its end. If the file is cut short, the line averages the readable part;
// see r.Err(). If there is nothing to average, or a request has no usable times, line is
// "" and err says why; the script raises an exception.
func AverageFirstToken(r export.Reader) (line string, err error) {
	a := averager{r: r, what: "first-token"}
	return a.line("Average first-token latency: ", func(q *export.Request) {
		a.sum.AddDiff(q.Responses[0].RecvNS, q.StartNS)
		a.n++
	})
}

// AverageTokenToToken writes the line that calculate_avg_token_to_token_latency.py
// prints: the mean of all gaps between consecutive responses of a request,
// pooled over the requests of the first experiment. Everything else is as for
// [AverageFirstToken].
func AverageTokenToToken(r export.Reader) (line string, err error) {
	a := averager{r: r, what: "token-to-token"}
	return a.line("Average token-to-token latency: ", func(q *export.Request) {
		for i := 1; i < len(q.Responses); i++ {
			a.sum.AddDiff(q.Responses[i].RecvNS, q.Responses[i-1].RecvNS)
			a.n++
		}
	})
}

// An averager runs one of the two scripts.
type averager struct {
	r    export.Reader
	what string

	sum      stat.IntSum
	n        int // terms in sum
	requests int
	silent   int    // requests without a response
	firstAt  uint64 // StartNS of the first of them
}

// line reads the first level and returns prefix with the average; add takes each request that counts.
func (a *averager) line(prefix string, add func(*export.Request)) (string, error) {
	for a.r.Next() {
		if a.r.Experiment() != 0 {
			continue
		}
		q := a.r.Request()
		if q.Excluded() != export.NotExcluded {
			continue
		}
		a.requests++
		if len(q.Responses) == 0 {
			if a.silent == 0 {
				a.firstAt = q.StartNS
			}
			a.silent++
			continue
		}
		add(q)
	}
	if err := a.check(); err != nil {
		return "", err
	}
	return prefix + py.Repr(a.sum.Div(a.n)/1e9) + " s", nil
}

// check returns the reason for which the script would have raised an exception.
func (a *averager) check() error {
	switch {
	case len(a.r.Run().Experiments) == 0:
		return fmt.Errorf("no experiment in the file; there is no %s latency to average", a.what)
	case a.left() > 0:
		return fmt.Errorf("%d of %s of the first experiment cannot be read (%s); the average over all requests is not defined, use the report",
			a.left(), plural.Of(a.left()+a.requests, "request"), a.reason())
	case a.requests == 0:
		return fmt.Errorf("the first experiment has no request; there is no %s latency to average", a.what)
	case a.silent > 0:
		return fmt.Errorf("no response in %d of %s of the first experiment (the first was sent at %d ns); the average over all requests is not defined, use the report",
			a.silent, plural.Of(a.requests, "request"), a.firstAt)
	case a.n == 0:
		return fmt.Errorf("no request of the first experiment has two responses (one-token or unstreamed answers); there is no %s gap to average", a.what)
	}
	return nil
}

// left returns how many requests of the first experiment the reader left out.
func (a *averager) left() int {
	counted, _ := a.r.Skipped(0)
	return counted
}

// reason returns why the first request was left out.
func (a *averager) reason() string {
	for _, w := range a.r.Warnings() {
		if w.LeftOut {
			return fmt.Sprintf("the first at byte %d: %s", w.Offset, w.Msg)
		}
	}
	return "their times are not integers"
}
