package explain

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
)

// OTelConventions is where the names come from. The conventions for GenAI have the status
// "development" and no release.
const OTelConventions = "https://github.com/open-telemetry/semantic-conventions-genai"

// Attributes of the conventions.
const (
	OTelTokenType = "gen_ai.token.type"
	OTelOperation = "gen_ai.operation.name"
	OTelProvider  = "gen_ai.provider.name"
	OTelModel     = "gen_ai.request.model"
	OTelError     = "error.type"
)

// serverNames holds the server's metrics of the conventions by the names of figures of servers
// ([github.com/pa-tools/pa/pkg/analyze/serverfigures.Figure]).
var serverNames = map[string]string{
	"time to first token":   "gen_ai.server.time_to_first_token",
	"time per output token": "gen_ai.server.time_per_output_token",
	"request":               "gen_ai.server.request.duration",
}

// OTelServer returns the name of the conventions for a figure of a server; "" if there is none.
func OTelServer(figure string) string { return serverNames[figure] }

// ServerFigures returns the names of the figures of servers that the conventions know, in the order of
// a report.
func ServerFigures() []string {
	return []string{"time to first token", "request", "time per output token"}
}

// OTelName returns the name for a metric with a key: of the conventions, else ours with the prefix
// "pa." and without the unit.
func OTelName(key string) string { return cmp.Or(OTelOf(key).Name, ours(key)) }

// OTelOf returns the names of a metric or a rate in the conventions by its key.
func OTelOf(key string) answer.OTel {
	all := All()
	for i := range all {
		if e := &all[i]; e.Key == key && (!e.OfLevel || e.Group == Rates) {
			return e.OTel
		}
	}
	return answer.OTel{}
}

// OTelAttribute returns the name for the value of one request: of the conventions, else ours with the
// prefix "pa." and without the unit.
func OTelAttribute(key string) string { return cmp.Or(OTelOf(key).Attribute, ours(key)) }

func ours(key string) string { return "pa." + strings.TrimSuffix(key, "_ns") }

// OTelUnit returns a unit of ours as UCUM has it: "s" for "ns", whose values [Seconds] converts.
func OTelUnit(unit string) string {
	switch unit {
	case "ns":
		return "s"
	case "tokens":
		return "{token}"
	}
	return "1"
}

// Seconds returns the decimal number of seconds that is exactly v nanoseconds: the digits of v with the
// decimal point nine places to the left. v must be finite.
func Seconds(v float64) string { return SecondsOf(strconv.FormatFloat(v, 'f', -1, 64)) }

// SecondsOf is Seconds of a decimal number without an exponent.
func SecondsOf(decimal string) string {
	const places = 9
	digits, negative := strings.CutPrefix(decimal, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole) <= places {
		whole = strings.Repeat("0", places+1-len(whole)) + whole
	}
	at := len(whole) - places
	result := whole[:at]
	if fraction = strings.TrimRight(whole[at:]+fraction, "0"); fraction != "" {
		result += "." + fraction
	}
	if negative {
		result = "-" + result
	}
	return result
}
