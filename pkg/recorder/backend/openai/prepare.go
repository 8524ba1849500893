package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

const userAgent = backend.UserAgent

// A payload is a request, ready for either transport.
type payload struct {
	method  string
	url     *url.URL
	request []byte   // head and body as sent
	body    []byte   // end of request; nil: none
	own     []Header // of this request, in request
	inputs  export.Fields

	model    string // model in the body or the path; "": none
	streamed bool   // the request asks for a streamed answer
	images   int64  // how many images the request asks for; 0 unless the endpoint makes images
}

func (p *payload) Inputs() export.Fields { return p.inputs }

// Model implements backend.Modeler.
func (p *payload) Model() string { return p.model }

// Streamed implements backend.Streamer.
func (p *payload) Streamed() bool { return p.streamed }

// Prepare encodes an entry: its Prompt, or its "payload", an array with one object, the
// body, which is sent in compact form. The configuration may add members. The export shows
// one input, the body as sent; for a form, its fields as JSON, with a description in place of the clip.
func (b *Backend) Prepare(e *workload.Entry) (backend.Payload, error) {
	body, err := b.bodyOf(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Place(), err)
	}
	return b.payloadOf(body)
}

// payloadOf returns the request with a body.
func (b *Backend) payloadOf(body []byte) (*payload, error) {
	sent, shown := body, []byte(nil)
	if b.target.api == render.Transcription {
		var err error
		if sent, shown, err = openai.AudioForm(body); err != nil {
			return nil, err
		}
	}
	p := b.newPayload(http.MethodPost, b.target.uri, sent)
	if shown == nil {
		shown = p.body
	}
	p.inputs = export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: shown}}}
	info, err := openai.InspectRequest(shown)
	p.streamed, p.model = info.Stream || b.target.stream, info.Model
	switch _, numbers := openai.Numbers(b.target.uri); {
	case err != nil:
	case numbers && strings.HasPrefix(info.EncodingFormat, "bytes"):
		return nil, fmt.Errorf("encoding_format %q: such an answer is not JSON and cannot be read; use float or base64", info.EncodingFormat)
	case b.target.api == render.Images:
		p.images = max(info.N, 1)
	case b.target.api.ModelInPath():
		p.model = b.model
	case b.target.ollama(): // streams unless told otherwise
		p.streamed = info.Stream || !info.HasStream
	}
	return p, err
}

// newPayload returns a request for uri, a path with query; body may be nil.
func (b *Backend) newPayload(method, uri string, body []byte) *payload {
	if b.relays() {
		uri = "http://" + b.target.host + uri
	}
	p := &payload{
		method: method, request: b.request(method, uri, body),
		// Opaque is sent unchanged; only scheme and host are used otherwise.
		url: &url.URL{Scheme: "http", Host: b.target.host, Opaque: uri},
	}
	if b.target.secure {
		p.url.Scheme = "https"
	}
	if body != nil {
		p.body = p.request[len(p.request)-len(body):]
	}
	return p
}

func (b *Backend) bodyOf(e *workload.Entry) ([]byte, error) {
	body, err := b.bareBody(e)
	if err != nil {
		return nil, err
	}
	sets := [][]byte{b.extra}
	made := b.cfg.Render.Template != nil && e.Prompt != nil && e.Prompt.Body == nil
	if b.cfg.Streaming && !made && b.target.api != render.Gemini { // a template decides by itself, and Gemini's path
		sets = append(sets, []byte(b.target.streamMember()))
	}
	for _, set := range sets {
		if body, err = openai.MergeRequest(body, set); err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
	}
	if made {
		return body, nil
	}
	if b.target.api == render.Messages {
		if body, err = render.WithLength(body); err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
	}
	return b.withModel(body, cmp.Or(e.Model, b.model))
}

// bareBody returns the body without the members that the configuration sets.
func (b *Backend) bareBody(e *workload.Entry) ([]byte, error) {
	if e.Prompt != nil {
		o := b.cfg.Render
		o.Model, o.Stream = cmp.Or(e.Model, b.model), b.streams
		return render.Body(b.target.api, e.Prompt, o)
	}
	value, ok := e.Values.Get("payload")
	if !ok {
		return nil, fmt.Errorf(`no "payload"; a request to an OpenAI-compatible server is {"payload": [{…body…}]}`)
	}
	for _, f := range e.Values {
		switch f.Name {
		case "payload", "model", "session_id", "delay", "timestamp":
		default:
			return nil, fmt.Errorf("%q is not an input of an OpenAI-compatible server; put the request's body into %q", f.Name, "payload")
		}
	}
	object, err := onlyElement(value)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	body, err := openai.MergeRequest(object, nil)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	return body, nil
}

// onlyElement returns the element of a JSON array with one element.
func onlyElement(v export.Value) ([]byte, error) {
	var list []json.RawMessage
	if v.Text || json.Unmarshal(v.Data, &list) != nil {
		return nil, fmt.Errorf("expected an array with one object, the request's body, found %.20q", v.Data)
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("expected an array with one object, the request's body, found %d elements", len(list))
	}
	return list[0], nil
}

// withModel sets the model in a body that names none; "" means an unknown model. Triton
// and Gemini have the model in the path.
func (b *Backend) withModel(body []byte, model string) ([]byte, error) {
	if b.target.api.ModelInPath() {
		return body, nil
	}
	info, err := openai.InspectRequest(body)
	if err != nil || info.Model != "" {
		return body, err
	}
	if model == "" {
		if len(b.listed) > 0 {
			return nil, fmt.Errorf("the body names no model and the server has %s; choose one with -m", someNames(b.listed))
		}
		return body, nil
	}
	name, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	return openai.MergeRequest(body, append(append([]byte(`{"model":`), name...), '}'))
}

// request returns the bytes of a request; body may be nil.
func (b *Backend) request(method, uri string, body []byte) []byte {
	var w bytes.Buffer
	w.Grow(len(body) + 1024)
	w.WriteString(method + " " + uri + " HTTP/1.1\r\n")
	for _, h := range b.headers(body != nil) {
		w.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	if body != nil {
		w.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	w.WriteString("\r\n")
	w.Write(body)
	return w.Bytes()
}

// headers returns the headers of a request in the order of sending. The user's headers
// replace the backend's.
func (b *Backend) headers(hasBody bool) []Header {
	var all []Header
	ours := func(name, value string) {
		set := slices.ContainsFunc(b.fixed, func(h Header) bool { return strings.EqualFold(h.Name, name) })
		if !set && (!hasBody || !b.perRequest.Has(name)) {
			all = append(all, Header{name, value})
		}
	}
	ours("Host", b.target.host)
	ours("User-Agent", userAgent)
	ours("Accept", "*/*")
	if b.target.api == render.Messages {
		ours("anthropic-version", "2023-06-01")
	}
	if auth := b.target.auth; auth.Value != "" {
		ours(auth.Name, auth.Value)
	}
	if b.relays() {
		if auth := backend.BasicAuthorization(b.proxy.User); auth != "" {
			ours("Proxy-Authorization", auth)
		}
	}
	all = append(all, b.fixed...)
	if hasBody {
		ours("Content-Type", b.target.contentType())
	}
	return all
}

// httpHeader returns the headers in the form of net/http, which takes Host separately.
// net/http sends the same headers with three differences: they are sorted by name, only
// the first of several User-Agent and Host headers is sent, and white space around values
// is dropped. HTTP/2 writes names in lower case.
func (b *Backend) httpHeader(hasBody bool) (host string, all http.Header) {
	all = http.Header{}
	for _, h := range b.headers(hasBody) {
		name := h.Name
		switch canonical := http.CanonicalHeaderKey(name); canonical {
		case "Host":
			if host == "" {
				host = h.Value
			}
			continue
		case "User-Agent":
			name = canonical // or net/http adds its own
		}
		all[name] = append(all[name], h.Value)
	}
	return host, all
}
