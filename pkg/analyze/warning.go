package analyze

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
)

// A WarningKind is the subject of a [Warning]. Reports group warnings by kind, and
// programs tell warnings apart by it.
type WarningKind string

// The kinds of warnings.
const (
	KindIncomplete    WarningKind = "incomplete"    // the run ended early
	KindNothing       WarningKind = "nothing"       // no request succeeded
	KindFailed        WarningKind = "failed"        // requests that failed
	KindUnreadable    WarningKind = "unreadable"    // parts of the file that cannot be read
	KindContradiction WarningKind = "contradiction" // stored figures that the recorded data contradict
	KindClock         WarningKind = "clock"         // times that cannot be true
	KindImpossible    WarningKind = "impossible"    // numbers that cannot be true, and are left out
	KindPaused        WarningKind = "paused"        // the recorder was stopped for a while
	KindClient        WarningKind = "client-limit"  // the recorder, not the server, may be the limit
	KindDropped       WarningKind = "dropped"       // outputs that the recorder could not store
	KindLoad          WarningKind = "load"          // the load asked for was not reached
	KindCache         WarningKind = "cache"         // prompts that the server had in its cache
	KindUnsteady      WarningKind = "unsteady"      // the level may not show a steady state
	KindNotStreamed   WarningKind = "not-streamed"  // answers came whole: there are no times of tokens
	KindLostGaps      WarningKind = "lost-gaps"     // tokens that arrived together
	KindTokenCount    WarningKind = "token-count"   // the number of tokens is in doubt
	KindMissingTimes  WarningKind = "missing-times" // requests without a time or an output
	KindSLO           WarningKind = "slo"           // an objective that cannot be decided
	KindServer        WarningKind = "server"        // figures of servers that are missing or partial
	KindNoEffect      WarningKind = "no-effect"     // what the command line or the input data asked for in vain
	KindOther         WarningKind = "other"
)

// maxNoEffectBytes bounds the text of a warning about what had no effect.
const maxNoEffectBytes = 500

// severity lists the kinds in the order of reports, the most severe first: figures
// that are wrong or absent, then figures that do not describe the server, then limits
// of single metrics, then the rest.
var severity = [...]WarningKind{
	KindIncomplete, KindNothing, KindFailed, KindUnreadable, KindContradiction, KindClock, KindImpossible,
	KindPaused, KindClient, KindDropped, KindLoad, KindCache, KindUnsteady,
	KindNotStreamed, KindLostGaps, KindTokenCount, KindMissingTimes, KindSLO,
	KindServer, KindNoEffect, KindOther,
}

// WarningKinds returns all kinds, the most severe first.
func WarningKinds() []WarningKind { return slices.Clone(severity[:]) }

// A Warning tells the reader of the figures what happened, to how many requests, and
// what to do, in one sentence.
type Warning struct {
	Kind WarningKind
	// Sub distinguishes warnings of one kind with different subjects: Together joins
	// only warnings with the same Sub.
	Sub string

	text   string
	counts []int64
	say    func(n []int64) string // nil: the text has no counts that add up
}

// Error returns the text.
func (w *Warning) Error() string { return w.text }

// counted returns a warning whose counts add up over levels and runs. say makes its
// text from the counts.
func counted(kind WarningKind, sub string, say func(n []int64) string, counts ...int64) *Warning {
	return &Warning{Kind: kind, Sub: sub, text: say(counts), counts: counts, say: say}
}

// AboutClient reports whether a warning doubts that the recorder kept up with its load, or its figures
// about itself.
func AboutClient(w error) bool {
	k := AsWarning(w)
	return k.Kind == KindClient || k.Kind == KindDropped || k.Kind == KindLostGaps && k.Sub == subCrowded || k.Kind == KindImpossible && k.Sub == SubClient
}

// newWarning returns a warning that is grouped with warnings of the same wording, apart
// from numbers.
func newWarning(kind WarningKind, format string, args ...any) *Warning {
	text := fmt.Sprintf(format, args...)
	return &Warning{Kind: kind, Sub: wording(text), text: text}
}

// wording returns text with each number replaced by "#".
func wording(text string) string {
	var b strings.Builder
	inNumber := false
	for _, r := range text {
		isDigit := r >= '0' && r <= '9' || inNumber && (r == '.' || r == ',')
		if isDigit && !inNumber {
			b.WriteByte('#')
		}
		if inNumber = isDigit; !isDigit {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// AsWarning returns err as a Warning; an error of another type gets the kind "other".
func AsWarning(err error) *Warning {
	var w *Warning
	var u *Unsteady
	switch {
	case errors.As(err, &w):
		return w
	case errors.As(err, &u):
		return newWarning(KindUnsteady, "%s", u.text)
	}
	return newWarning(KindOther, "%s", err.Error())
}

// Rank returns the place of the warning's kind in the order of severity; 0 is the
// most severe.
func (w *Warning) Rank() int {
	if i := slices.Index(severity[:], w.Kind); i >= 0 {
		return i
	}
	return len(severity)
}

// Together returns one text for several warnings with the same Kind and Sub, with the
// sums of their counts. ok is false if they have no counts and differ; text is then
// the text of the first one.
func Together(all []*Warning) (text string, ok bool) {
	first := all[0]
	same := true
	for _, w := range all[1:] {
		same = same && w.text == first.text
	}
	if same && len(all) == 1 || first.say == nil {
		return first.text, same
	}
	sums := make([]int64, len(first.counts))
	for _, w := range all {
		if w.say == nil || len(w.counts) != len(sums) {
			return first.text, false
		}
		for i, n := range w.counts {
			sums[i] = stat.SaturatingAdd(sums[i], n)
		}
	}
	return first.say(sums), true
}

// ofRequests returns "3 of 1,072 requests" of two counts.
func ofRequests(n []int64) string {
	return plural.Grouped(n[0]) + " of " + plural.GroupedOf(n[1], "request")
}

// wholeOf returns a sum as an int64, or the largest int64 if the sum does not fit.
func wholeOf(s stat.IntSum) int64 {
	if f := s.Float64(); f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return s.Big().Int64()
}

// An Unsteady is a reason why a level may not be in a steady state, so that a later or
// repeated measurement may differ.
type Unsteady struct {
	Brief string // in a few words, for a table
	text  string
	first int // it is about that many requests at the start of the level, which a selection could leave out; 0: about others
}

// Error returns the reason in full, with advice.
func (u *Unsteady) Error() string { return u.text }

// Subs of warnings of KindImpossible that are not about requests.
const (
	SubClient      = "client"
	SubCalibration = "calibration"
	SubRun         = "run"
)

// maxQuotedBytes bounds foreign text in a message.
const maxQuotedBytes = 200

// impossibleFigures returns the warning that some figures of a file cannot be true and are left out. wrong says
// which.
func impossibleFigures(sub, what string, wrong []string) *Warning {
	more := ""
	if n := len(wrong) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return &Warning{Kind: KindImpossible, Sub: sub, text: fmt.Sprintf("%s are impossible and left out: %s%s", what, wrong[0], more)}
}
