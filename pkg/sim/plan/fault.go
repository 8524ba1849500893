package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Fault is a way in which an answer goes wrong, or an unusual but valid form of it. "After
// k tokens" refers to FaultRule.After; in an answer of at most k tokens the fault strikes
// before the end of its stream.
//
// Faults of framing (split, crlf, comments, slow_header, garbage_header) have no effect on
// gRPC.
type Fault int

// The faults. Comments describe HTTP first, then gRPC.
const (
	// FaultNone answers normally.
	FaultNone Fault = iota
	// FaultHTTP500 answers at once with status 500 and a JSON error; INTERNAL.
	FaultHTTP500
	// FaultHTTP429 answers at once with status 429, Retry-After: 1 and a JSON
	// error; UNAVAILABLE, as from a full queue.
	FaultHTTP429
	// FaultReset breaks the connection with a TCP RST after k tokens; on gRPC
	// with all RPCs that share it. An answer that does not stream breaks in the
	// middle of its body.
	FaultReset
	// FaultTruncate closes the connection in the middle of the event after k
	// tokens: the last chunk is missing. A gRPC stream ends with OK although the
	// request had no final response; a unary call is reset.
	FaultTruncate
	// FaultNoReply closes the connection without a byte of answer; on gRPC the
	// same as reset, before any token.
	FaultNoReply
	// FaultHang never answers until the client goes away.
	FaultHang
	// FaultStall sends nothing more after k tokens until the client goes away.
	FaultStall
	// FaultNoDone leaves out [DONE], or the final response on gRPC.
	FaultNoDone
	// FaultErrorEvent sends an error instead of the rest after k tokens: an SSE
	// event with status 200, an error_message on gRPC. An answer that does not
	// stream becomes status 500 at the time when it would have been complete.
	FaultErrorEvent
	// FaultMerged sends three events per write, at the time of the last.
	FaultMerged
	// FaultSplit sends each event in two writes 2 ms apart, cut inside a
	// multi-byte character if there is one, else in the middle.
	FaultSplit
	// FaultCRLF ends lines with CR LF.
	FaultCRLF
	// FaultComments sends an SSE comment before every second event.
	FaultComments
	// FaultOneshot sends the whole stream at its end, in one write.
	FaultOneshot
	// FaultGarbage sends an event that is neither JSON nor UTF-8 after k tokens,
	// then goes on; on gRPC a message that is no protobuf. An answer that does
	// not stream is cut in its middle and ends with such bytes.
	FaultGarbage
	// FaultSlowHeader sends the response header in pieces of 16 bytes 5 ms
	// apart, and closes the connection after the answer.
	FaultSlowHeader
	// FaultGarbageHeader answers with bytes that are not HTTP and closes.
	FaultGarbageHeader

	numFaults = iota
)

// faults holds name and effect of each fault, in the order of the constants. Effects have at
// most 61 columns, for a help page.
var faults = [numFaults]struct{ name, does string }{
	{"none", "nothing goes wrong"},
	{"http_500", "status 500 at once; over gRPC INTERNAL"},
	{"http_429", "status 429 with Retry-After at once; over gRPC UNAVAILABLE"},
	{"reset", "the connection is reset after k tokens"},
	{"truncate", "the connection is closed in the middle of event k + 1"},
	{"no_reply", "the connection is closed without a byte of an answer"},
	{"hang", "there is no answer until the client goes away"},
	{"stall", "nothing comes after k tokens until the client goes away"},
	{"no_done", "no [DONE]; over gRPC no final response"},
	{"error_event", "an error comes instead of the rest after k tokens"},
	{"merged", "three events share a write, at the time of the last"},
	{"split", "each event comes in two writes, 2 ms apart"},
	{"crlf", "lines end with CR LF"},
	{"comments", "an SSE comment comes before every second event"},
	{"oneshot", "the whole stream comes at its end, in one write"},
	{"garbage", "after k tokens comes an event that is garbage"},
	{"slow_header", "the header comes in pieces 5 ms apart"},
	{"garbage_header", "the answer is not HTTP"},
}

// String returns the name of the fault, as in sim_fault.
func (f Fault) String() string {
	if f < 0 || f >= numFaults {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return faults[f].name
}

// Does returns a summary of the effect, in which k is FaultRule.After.
func (f Fault) Does() string {
	if f < 0 || f >= numFaults {
		return "not known"
	}
	return faults[f].does
}

// ParseFault is the inverse of String.
func ParseFault(s string) (Fault, error) {
	var names []string
	for f := range faults {
		if s == faults[f].name {
			return Fault(f), nil
		}
		names = append(names, faults[f].name)
	}
	return 0, fmt.Errorf("unknown fault %q; expected one of %s", clip(s), strings.Join(names, ", "))
}

// Faults returns all faults but FaultNone, in order.
func Faults() []Fault {
	var all []Fault
	for f := FaultNone + 1; f < numFaults; f++ {
		all = append(all, f)
	}
	return all
}

// DefaultFaultAfter is the number of tokens before a fault strikes, unless a rule gives
// another number.
const DefaultFaultAfter = 3

// A FaultRule applies a fault to some requests.
type FaultRule struct {
	Fault Fault
	// Every is k for every k-th request, with index k−1, 2k−1, … 0 means every request.
	Every int
	// After is the number of tokens before the fault strikes, for faults within a
	// stream. 0 means DefaultFaultAfter, −1 means none.
	After int
}

// ParseFaultRule reads a rule:
//
//	rule = fault [ ":" option { "," option } ]
//	option = "every=" number | "after=" number
//
// such as "http_500:every=6" or "reset:every=10,after=0".
func ParseFaultRule(s string) (FaultRule, error) {
	name, options, _ := strings.Cut(s, ":")
	f, err := ParseFault(name)
	if err != nil {
		return FaultRule{}, err
	}
	r := FaultRule{Fault: f}
	for option := range strings.SplitSeq(options, ",") {
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || key == "every" && n == 0 {
			return FaultRule{}, fmt.Errorf("fault rule %q: %q is not every=N with N ≥ 1 or after=N", clip(s), clip(option))
		}
		switch key {
		case "every":
			r.Every = n
		case "after":
			r.After = n
			if n == 0 {
				r.After = -1
			}
		default:
			return FaultRule{}, fmt.Errorf("fault rule %q: unknown option %q; expected every=N or after=N", clip(s), clip(key))
		}
	}
	return r, nil
}

// String returns r in the form that ParseFaultRule reads.
func (r FaultRule) String() string {
	var options []string
	if r.Every != 0 {
		options = append(options, "every="+strconv.Itoa(r.Every))
	}
	if r.After != 0 {
		options = append(options, "after="+strconv.Itoa(max(0, r.After)))
	}
	if options == nil {
		return r.Fault.String()
	}
	return r.Fault.String() + ":" + strings.Join(options, ",")
}

// Validate reports invalid values of r.
func (r FaultRule) Validate() error {
	switch {
	case r.Fault < 0 || r.Fault >= numFaults:
		return fmt.Errorf("unknown fault %d", int(r.Fault))
	case r.Every < 0:
		return errors.New("every is negative")
	case r.After < -1:
		return errors.New("after is less than -1")
	}
	return nil
}

// matches reports whether the rule applies to the request with this index.
func (r FaultRule) matches(index uint64) bool {
	return (index+1)%uint64(max(1, r.Every)) == 0
}

// tokensBefore returns After with its default resolved.
func (r FaultRule) tokensBefore() int {
	if r.After == 0 {
		return DefaultFaultAfter
	}
	return max(0, r.After)
}

// FaultFor returns the fault of the request with this index, and the tokens before
// it strikes. The first rule that matches decides.
func FaultFor(rules []FaultRule, index uint64) (Fault, int) {
	for _, r := range rules {
		if r.matches(index) {
			return r.Fault, r.tokensBefore()
		}
	}
	return FaultNone, DefaultFaultAfter
}
