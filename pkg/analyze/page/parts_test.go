package page

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
)

// The parts of the bar follow each other and fill it. A part below 0 takes no place, so that the others reach beyond the
// mean TTFT; it is in the text, and a note says how many requests it is in.
func TestTTFTBar(t *testing.T) {
	if newTTFTBar(nil) != nil {
		t.Error("a bar without a waterfall")
	}
	b := newTTFTBar(&figure.Waterfall{
		Requests: 2, MeanNS: 1e6, Below: 1, Beyond: 1, LeastNS: -3e5, BoundNS: 1000,
		Parts: []figure.TTFTPart{
			{Part: answer.QueuePart, N: 2, MeanNS: 2e5, Share: 0.2},
			{Part: answer.PrefillPart, N: 2, MeanNS: 9e5, Share: 0.9},
			{Part: answer.RestPart, N: 2, MeanNS: -1e5, Share: -0.1},
		},
	})
	if b.Width < 1099 || b.Width > 1101 || len(b.Parts) != 3 || len(b.Notes) != 1 {
		t.Fatalf("%+v", b)
	}
	x := 0.0
	for _, p := range b.Parts {
		if p.X != x || p.Class == "" {
			t.Errorf("%+v begins not at %v", p, x)
		}
		x += p.Width
	}
	if rest := b.Parts[2]; rest.Width != 0 || !strings.Contains(rest.Text, "-10.00 %") {
		t.Errorf("%+v", rest)
	}
}
