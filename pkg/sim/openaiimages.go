package sim

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"iter"
	"net/http"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// An imagesRequest is the body of a request to v1/images/generations.
type imagesRequest struct {
	requestFields
	Model          string  `json:"model"`
	Prompt         string  `json:"prompt"`
	N              *number `json:"n"`
	ResponseFormat string  `json:"response_format"`
	Stream         bool    `json:"stream"`
	PartialImages  *number `json:"partial_images"`
}

// maxImages and maxPartialImages bound the images of a request, as at OpenAI.
const (
	maxImages        = 10
	maxPartialImages = 3
)

// imageSide is the width and height of every image, in pixels.
const imageSide = 16

// serveImages answers v1/images/generations. The output tokens of the plan are the steps of each image: an image is
// finished at its last step.
func serveImages(x *exchange) {
	s := x.s
	var q imagesRequest
	if !x.parse(&q) {
		return
	}
	if _, ok := x.resolveModel(&q.Model, "img"); !ok {
		return
	}
	a, partial, err := s.imagesPlanRequest(x.index, &q)
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := imagesRenderer{
		seed: plan.Mix(s.config.Seed ^ p.Key), created: x.rec.Start.Unix(), newline: newline(p.Fault), usage: !s.config.OmitUsage,
		partial: partial, url: q.ResponseFormat == "url",
	}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), ErrorEnds: true, Failure: func() []byte {
			return namedEvent(t.newline, "error", openAIErrorBody(http.StatusInternalServerError, errorEventMessage))
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	body, end := t.body(p)
	x.answerWhole(p, body, end)
}

// imagesPlanRequest resolves the settings of a body. partial is the number of partial images.
func (s *Server) imagesPlanRequest(index uint64, q *imagesRequest) (a plan.Request, partial int, err error) {
	n, err := q.N.whole("n", 1, maxImages, 1)
	partial, partialErr := q.PartialImages.whole("partial_images", 0, maxPartialImages, 0)
	switch err = errors.Join(err, partialErr); {
	case err != nil:
	case q.Prompt == "":
		err = errors.New("prompt: expected a text")
	case q.ResponseFormat != "" && q.ResponseFormat != "url" && q.ResponseFormat != "b64_json":
		err = errors.New("response_format: expected url or b64_json")
	case q.Stream && n > 1:
		err = errors.New("n: a stream has one image")
	case q.Stream && q.ResponseFormat == "url":
		err = errors.New("response_format: a stream holds images as b64_json")
	default:
		a, err = s.planRequest(index, &q.requestFields, []int{s.countTokens(q.Prompt)}, []string{""}, n)
	}
	return a, partial, err
}

// An imagesRenderer renders answers of v1/images/generations.
type imagesRenderer struct {
	seed    uint64
	created int64
	newline string
	usage   bool
	partial int
	url     bool
}

// picture returns image n in base64: a PNG whose pixels depend on the seed and on n.
func (t *imagesRenderer) picture(n int) string {
	m := image.NewGray(image.Rect(0, 0, imageSide, imageSide))
	v := plan.Mix(t.seed + uint64(n))
	for i := range imageSide * imageSide {
		v = plan.Mix(v)
		m.SetGray(i%imageSide, i/imageSide, color.Gray{Y: uint8(v)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// appendUsage appends the member "usage".
func (t *imagesRenderer) appendUsage(b []byte, p *plan.Plan) []byte {
	if !t.usage {
		return b
	}
	out := p.OutputTokens()
	return fmt.Appendf(b, `,"usage":{"total_tokens":%d,"input_tokens":%d,"output_tokens":%d,"input_tokens_details":{"text_tokens":%d,"image_tokens":0}}`,
		p.InputTokens+out, p.InputTokens, out, p.InputTokens)
}

// events returns the stream: partial images at even distances, and the finished image.
func (t *imagesRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		sent, held, shown, all := 0, 0, 0, p.OutputTokens() // held: the tokens since the last event
		for s := range p.Steps() {
			sent, held = sent+s.Tokens, held+s.Tokens
			if sent == all {
				b := fmt.Appendf(nil, `{"type":"image_generation.completed","created_at":%d,"b64_json":"%s","output_format":"png"`, t.created, t.picture(t.partial))
				b = append(t.appendUsage(b, p), '}')
				yield(plan.Event{At: s.At, Data: namedEvent(t.newline, "image_generation.completed", b), Tokens: held, Kind: plan.EventDone})
				return
			}
			if shown == t.partial || sent*(t.partial+1) < (shown+1)*all {
				continue
			}
			b := fmt.Appendf(nil, `{"type":"image_generation.partial_image","created_at":%d,"partial_image_index":%d,"b64_json":"%s","output_format":"png"}`, t.created, shown, t.picture(shown))
			if !yield(plan.Event{At: s.At, Data: namedEvent(t.newline, "image_generation.partial_image", b), Tokens: held, Kind: plan.EventOutput}) {
				return
			}
			shown, held = shown+1, 0
		}
	}
}

// body returns a whole answer and its due time.
func (t *imagesRenderer) body(p *plan.Plan) ([]byte, time.Duration) {
	var end time.Duration
	for s := range p.Steps() {
		end = s.At
	}
	b := fmt.Appendf(nil, `{"created":%d,"data":[`, t.created)
	for i := range p.Choices {
		if i > 0 {
			b = append(b, ',')
		}
		if t.url {
			b = fmt.Appendf(b, `{"url":"http://sim/%016x.png"}`, plan.Mix(t.seed+uint64(i)))
		} else {
			b = fmt.Appendf(b, `{"b64_json":"%s"}`, t.picture(i))
		}
	}
	return append(t.appendUsage(append(b, ']'), p), '}'), end
}
