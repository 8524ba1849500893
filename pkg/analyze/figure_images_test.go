package analyze

import (
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// The figures of images follow the answers, with the bytes of the images or without.
func TestImages(t *testing.T) {
	answered := func(start uint64, texts ...string) export.Request {
		r := export.Request{StartNS: start, HasMeta: true, Status: export.StatusOK}
		for i, text := range texts {
			r.Responses = append(r.Responses, export.Response{RecvNS: start + uint64(100*(i+1)), Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
		}
		return r
	}
	const (
		partial = "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AA==\"}\n\n"
		end     = "data: {\"type\":\"image_generation.completed\",\"b64_json\":{\"bytes\":6,\"sha256\":\"x\"}}\n\n"
		byURL   = "the answers hold URLs in place of images"
		whole   = "the answers were not streamed: pa-record --streaming asks for streams with a partial image"
		none    = "no answer of this run holds images: --endpoint v1/images/generations of pa-record asks for them"
	)
	for _, tt := range []struct {
		name, endpoint string
		requests       []export.Request
		want           map[string]float64
		why            map[string]string
	}{
		{
			"streamed", "v1/images/generations",
			[]export.Request{answered(1000, partial, partial, end), answered(2000, end)},
			map[string]float64{
				figure.KeyImages: 2, figure.KeyPartialImages: 2, figure.KeyRequestImages: 1, figure.KeyImageBytes: 6, figure.KeyFirstImage: 100, figure.KeyFirstImageP50: 100, figure.KeyFirstImageP99: 100,
				figure.KeyImageRate: 2e9 / 1100,
			},
			nil,
		},
		{
			"whole", "v1/images/generations",
			[]export.Request{answered(1000, `{"data":[{"b64_json":"AAEC"},{"b64_json":"AA=="},{"url":"u"}]}`)},
			map[string]float64{figure.KeyImages: 3, figure.KeyRequestImages: 3, figure.KeyImageBytes: 2, figure.KeyImageRate: 3e7},
			map[string]string{figure.KeyPartialImages: whole, figure.KeyFirstImage: whole, figure.KeyFirstImageP50: whole, figure.KeyFirstImageP99: whole},
		},
		{
			"by URL", "v1/images/generations",
			[]export.Request{answered(1000, `{"data":[{"url":"u"}]}`)},
			map[string]float64{figure.KeyImages: 1, figure.KeyRequestImages: 1, figure.KeyImageRate: 1e7},
			map[string]string{figure.KeyImageBytes: byURL, figure.KeyPartialImages: whole, figure.KeyFirstImage: whole, figure.KeyFirstImageP50: whole, figure.KeyFirstImageP99: whole},
		},
		{"a chat", "v1/chat/completions", []export.Request{answered(1000, `{"choices":[{"index":0,"message":{"content":"a"}}]}`)}, nil, map[string]string{
			figure.KeyImages: none, figure.KeyPartialImages: none, figure.KeyImageRate: none, figure.KeyRequestImages: none, figure.KeyImageBytes: none,
			figure.KeyFirstImage: none, figure.KeyFirstImageP50: none, figure.KeyFirstImageP99: none,
		}},
	} {
		r := memrun.New("openai", tt.requests)
		r.Header.Endpoint = &tt.endpoint
		rep, err := Run(t.Context(), r, Config{Images: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rep.Experiments[0].Images.Figures {
			if f.Value != tt.want[f.Key] || f.Why != tt.why[f.Key] {
				t.Errorf("%s: %s is %v, n/a because %q; want %v, %q", tt.name, f.Key, f.Value, f.Why, tt.want[f.Key], tt.why[f.Key])
			}
		}
	}
}
