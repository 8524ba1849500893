package page

import (
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
)

// A ttftBar is the picture of the parts of the TTFT of a level: a bar that is partBarWidth wide for the mean TTFT.
type ttftBar struct {
	Title string
	Width float64 // of the picture
	Parts []ttftPart
	Notes []string
}

// A ttftPart is a part of the bar. A part below 0 has no place in it.
type ttftPart struct {
	Class, Name, Text string
	X, Width          float64
}

// partBarWidth is the length of the mean TTFT in a ttftBar.
const partBarWidth = 1000

var partClasses = [answer.NumWaterfallParts]string{
	answer.WaitPart: "wait", answer.ConnectPart: "connect", answer.SendPart: "send",
	answer.QueuePart: "queue", answer.PrefillPart: "prefill", answer.FirstDecodePart: "decode", answer.RestPart: "rest",
}

// newTTFTBar returns the picture of a waterfall; nil for nil.
func newTTFTBar(w *figure.Waterfall) *ttftBar {
	if w == nil {
		return nil
	}
	b := &ttftBar{Title: "parts of the TTFT of " + plural.GroupedOf(w.Requests, "request") + ", mean " + report.Span(w.MeanNS), Width: partBarWidth}
	x := 0.0
	for i := range w.Parts {
		p := &w.Parts[i]
		part := ttftPart{Class: partClasses[p.Part], Name: p.Part.String(), Text: report.Span(p.MeanNS) + ", " + report.Number(100*p.Share) + " %", X: x}
		if p.Share > 0 {
			part.Width = partBarWidth * p.Share
			x += part.Width
		}
		b.Parts = append(b.Parts, part)
	}
	b.Width = max(b.Width, x)
	b.Notes = report.WaterfallNotes(w)
	return b
}

// Round formats a length of the picture.
func (ttftPart) Round(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
