package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze/figure"
)

func TestImageLines(t *testing.T) {
	values := map[string]float64{figure.KeyImages: 12, figure.KeyImageRate: 17.546, figure.KeyRequestImages: 1.5, figure.KeyImageBytes: 345.5, figure.KeyFirstImage: 30e6}
	g := figure.Images{}
	for _, f := range figure.ImageFigures {
		if v, ok := values[f.Key]; ok {
			f.Value = v
			g.Figures = append(g.Figures, f)
		}
	}
	want := []string{"images: 12", "images per second: 17.55", "images per request: 1.50", "size of an image: 345.5 bytes", "time to first image, mean: 30.00 ms"}
	if d := cmp.Diff(want, groupLines("images", g.Figures, imageFigure(scaleFor(1e6)))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	lines := csvImages(&g)
	if len(lines) != len(want) || lines[0].name != "images.images" || lines[0].mean != "12" {
		t.Errorf("CSV: %+v", lines)
	}
	if jsonImages(nil) != nil || csvImages(nil) != nil {
		t.Error("a report without images has some")
	}
}
