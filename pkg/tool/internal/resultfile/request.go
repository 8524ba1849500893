package resultfile

import (
	"fmt"
	"math"
	"net/url"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// Respond appends a response at ns, a time that the tool's own code took.
func Respond(r *export.Request, ns uint64, outputs export.Fields) {
	n := len(r.Responses)
	x := export.Response{RecvNS: ns, Source: export.SourceUser, Read: uint32(n), Outputs: outputs}
	r.Responses = append(r.Responses, x)
}

// Event is the output of a response that holds one server-sent event.
func Event(data string) export.Fields { return Body("data: " + data + "\n\n") }

// Body is the output of a response that holds a piece of a body.
func Body(text string) export.Fields {
	return export.Fields{{Name: "response", Value: export.Text(text)}}
}

// Payload is the input of a request whose body is the JSON text v.
func Payload(v []byte) export.Fields {
	return export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: jsonscan.AppendCompact(nil, v)}}}
}

// Nanoseconds converts seconds to the nearest whole nanosecond. It splits off the whole
// seconds first, because their product with 10⁹ does not fit the 53 bits of a float. ok
// is false for seconds that are negative, NaN, or more than 292 years.
func Nanoseconds(seconds float64) (ns uint64, ok bool) { return nanosecondsOf(seconds, 1e9) }

// Milliseconds does the same for milliseconds.
func Milliseconds(ms float64) (ns uint64, ok bool) { return nanosecondsOf(ms, 1e6) }

// nanosecondsOf converts a time in a unit of so many nanoseconds.
func nanosecondsOf(v, unit float64) (ns uint64, ok bool) {
	if !(v >= 0 && v < math.MaxInt64/unit) {
		return 0, false
	}
	whole, part := math.Modf(v)
	return uint64(whole)*uint64(unit) + uint64(math.Round(part*unit)), true
}

// Float returns a whole number as a float; nil for nil.
func Float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// SyntheticStart is the start of requests whose start is unknown. It is not 0, which
// means not recorded.
const SyntheticStart = 1_000_000_000

// BadTime is the problem of an entry whose time of that name is none.
func BadTime(at int64, name string, v float64) *BadEntry {
	return &BadEntry{At: at, Msg: fmt.Sprintf("%s: expected a time, found %v", name, v)}
}

// WithoutSecrets returns the scheme, host and path of a URL, and "" for any other text.
// User names, passwords and queries can be credentials.
func WithoutSecrets(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
