package analyze

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// Warnings of the recorder have a kind by which reports group them, and their counts add up.
func TestRecorderWarning(t *testing.T) {
	for _, tt := range []struct {
		text string
		kind WarningKind
		want string // "" for the text as it is
	}{
		{
			"78 of 4544 tokens arrived together with the previous one, so their gaps are unknown", KindLostGaps,
			"78 of 4,544 tokens arrived together with the previous one, so their gaps are unknown; either the server sends them together or this machine is overloaded: try a lower load",
		},
		{
			"78 of 4,544 tokens arrived together with the previous one, so their gaps are unknown", KindLostGaps,
			"78 of 4,544 tokens arrived together with the previous one, so their gaps are unknown; either the server sends them together or this machine is overloaded: try a lower load",
		},
		{"99999999999999999999 of 4544 tokens arrived together with the previous one", KindLostGaps, ""}, // beyond an int64 (edge)
		{"the client may be the limit: it used 95% of the time of its 2 cores; give it more cores, or send less load", KindClient, ""},
		{
			"78 of 4544 tokens arrived together with the previous one, so their gaps are unknown; " + export.TogetherCrowded, KindLostGaps,
			"78 of 4,544 tokens arrived together with the previous one, so their gaps are unknown; " + export.TogetherCrowded,
		},
		{"the wall clock was set by 1s between 2s and 3s after the start", KindClock, ""},
		{"not stable within 3 windows", KindUnsteady, ""},
		{"the disk did not keep up: the outputs of 3 requests are lost, their times are kept", KindDropped, ""},
		{"98.9 of the 100 requests per second that were asked for were sent: 7 had to wait, because the most requests allowed were in flight", KindLoad, ""},
		{"ended early: disk full", KindIncomplete, ""},
		{"3 turns were not asked, since 1 conversations broke off with a turn that failed", KindFailed, ""}, // of earlier recordings
		{"2 turns were not sent, because an earlier turn failed in 1 conversation", KindFailed, ""},
		{"no metrics from http://h: 404", KindServer, ""},
		{"something else", KindOther, ""},
	} {
		w := RecorderWarning(tt.text)
		want := tt.want
		if want == "" {
			want = tt.text
		}
		if w.Kind != tt.kind || w.Error() != want {
			t.Errorf("%q\n got %s: %s\nwant %s: %s", tt.text, w.Kind, w, tt.kind, want)
		}
	}
	a, b := RecorderWarning("2 of 1000 tokens arrived together with the previous one"), RecorderWarning("1 of 234 tokens arrived together with the previous one")
	if a.Sub != b.Sub {
		t.Errorf("%q and %q are not put together", a.Sub, b.Sub)
	}
	if got, ok := Together([]*Warning{a, b}); !ok || got != arrivedTogether(export.TogetherUnknown)([]int64{3, 1234}) {
		t.Errorf("together: %q, %v", got, ok)
	}
}

// Numbers apart, warnings with the same words are put together; warnings whose counts
// do not add up say so.
func TestTogether(t *testing.T) {
	one, two := AsWarning(errors.New("a pause of 12.5 s at 3, once")), AsWarning(errors.New("a pause of 1,007 s at 4, once"))
	if one.Sub != two.Sub || one.Sub != "a pause of # s at # once" {
		t.Errorf("%q and %q", one.Sub, two.Sub)
	}
	if text, ok := Together([]*Warning{one, two}); ok || text != one.Error() {
		t.Errorf("%q, %v", text, ok)
	}
	if text, ok := Together([]*Warning{one, one}); !ok || text != one.Error() {
		t.Errorf("the same twice: %q, %v", text, ok)
	}
	if text, ok := Together([]*Warning{two}); !ok || text != two.Error() {
		t.Errorf("a single one (edge): %q, %v", text, ok)
	}
}

// Every kind has a place in the order of severity, once.
func TestSeverity(t *testing.T) {
	all := WarningKinds()
	for i, k := range all {
		if w := (&Warning{Kind: k}); w.Rank() != i || slices.Contains(all[:i], k) {
			t.Errorf("%s has rank %d at place %d", k, w.Rank(), i)
		}
	}
	if (&Warning{Kind: KindClient}).Rank() >= (&Warning{Kind: KindLostGaps}).Rank() || (&Warning{Kind: "new"}).Rank() != len(all) {
		t.Error("the ranks are not in the order of severity")
	}
}

// The counts of several levels add up without overflow.
func TestTogetherSaturates(t *testing.T) {
	w := func() *Warning {
		return counted(KindTokenCount, "", func(n []int64) string { return strconv.FormatInt(n[0], 10) }, math.MaxInt64)
	}
	if text, ok := Together([]*Warning{w(), w()}); !ok || text != "9223372036854775807" {
		t.Errorf("%s, %v", text, ok)
	}
}
