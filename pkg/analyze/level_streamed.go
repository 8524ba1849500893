package analyze

import (
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// streamCount counts the measured requests by whether they were streamed.
type streamCount struct {
	not, unknown int // not streamed; perhaps streamed
	ignored      int // also in not: the request asked for a stream
	unasked      int // streamed, but the request did not ask for a stream
	// uncounted is the number of the not and unknown requests whose tokens nothing but their responses counts.
	uncounted int
}

func (s *streamCount) add(p *Point) {
	switch {
	case p.Numbers:
		return
	case p.Streamed == answer.StreamedNo:
		s.not++
		if p.Unlike {
			s.ignored++
		}
	case p.Streamed == answer.StreamedUnknown:
		s.unknown++
	default:
		if p.Unlike {
			s.unasked++
		}
		return
	}
	if p.Uncounted {
		s.uncounted++
	}
}

// Reasons that reports give if answers were not streamed, or may not have been.
const (
	whyUnknown   = "one response per request; --streaming if it was streamed"
	whyNot       = "not streamed"
	whyUncounted = "not streamed, and the server states no usage; --tokenizer counts the text"
	howToStream  = "; record with --streaming for these"
	whyIgnored   = "; the server did not stream, although the requests asked for it"
)

// unavailable returns the metrics that no request of the level has because the answers were not streamed, or may not
// have been. stated says that the caller stated whether they were.
func (s *streamCount) unavailable(metrics []summary.Metric, run *export.Run, stated bool) []figure.Unavailable {
	if s.not+s.unknown == 0 {
		return nil
	}
	why, uncounted := whyUnknown, whyUnknown
	if s.unknown == 0 {
		why, uncounted = whyNot, whyUncounted
		if s.ignored > 0 {
			why += whyIgnored
		} else if !stated && run.ServiceKind != nil && *run.ServiceKind == "openai" && (run.Meta == nil || run.Meta.Import == nil) {
			why += howToStream
		}
	}
	var all []figure.Unavailable
	for i := range answer.StrictMetrics {
		d := &answer.StrictMetrics[i]
		switch {
		case summary.Find(metrics, d.Metric) != nil:
		case d.NeedsStream:
			all = append(all, figure.Unavailable{Key: d.Key(), Name: d.Label(), Why: why})
		case d.Metric == answer.OutputTokens && s.uncounted > 0:
			all = append(all, figure.Unavailable{Key: d.Key(), Name: d.Label(), Why: uncounted})
		}
	}
	if s.uncounted > 0 {
		all = append(all, figure.Unavailable{Key: "output_tokens_per_s", Name: "token rates", Why: uncounted})
	}
	return all
}
