package openai

import (
	"context"
	"errors"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// attempts are what becomes of one after the other.
type attempts struct {
	outcomes []attempt
	made     int
	answer   *answer
}

type attempt struct {
	stale bool
	err   error
}

func (a *attempts) attempt(context.Context, *payload, *export.Request) (stale bool, err error) {
	o := a.outcomes[a.made]
	a.made++
	if !o.stale && o.err == nil {
		a.answer.end(&noAnswerError{errors.New("x")})
	}
	return o.stale, o.err
}

// A request that was sent again is marked, whatever became of it then; another
// is not.
func TestResent(t *testing.T) {
	b := newBackend(t, Config{URL: "127.0.0.1:1"})
	unreachable := &dialError{errors.New("unreachable")}
	for _, tt := range []struct {
		name     string
		outcomes []attempt
		resent   bool
		status   export.Status
	}{
		{"once", []attempt{{}}, false, export.StatusTruncated},
		{"no connection", []attempt{{err: unreachable}}, false, export.StatusConnectError},
		{"again", []attempt{{stale: true}, {}}, true, export.StatusTruncated},
		{"again, no connection", []attempt{{stale: true}, {err: unreachable}}, true, export.StatusConnectError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := answer{b: b}
			s := &attempts{outcomes: tt.outcomes, answer: &answer}
			var x backend.Exchange
			b.send(t.Context(), rxclock.New(), s, &answer, &payload{}, &x)
			if r := &x.Request; r.Resent != tt.resent || r.Status != tt.status || r.IssuedNS == 0 || s.made != len(tt.outcomes) {
				t.Errorf("%d attempts, Resent = %v, %v; want %d, %v, %v", s.made, r.Resent, r.Status, len(tt.outcomes), tt.resent, tt.status)
			}
		})
	}
}
