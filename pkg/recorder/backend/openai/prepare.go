package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

const userAgent = "pa-record"

// A payload is a request as it goes over the wire, head and body.
type payload struct {
	request []byte
	inputs  export.Fields
}

func (p *payload) Inputs() export.Fields { return p.inputs }

// Prepare makes a request of an entry. Its "payload" is an array with one
// object, the body, which is sent in compact form with what the configuration
// adds; the one input that the export shows is the body as sent.
func (b *Backend) Prepare(e *workload.Entry) (backend.Payload, error) {
	body, err := b.bodyOf(e)
	if err != nil {
		return nil, fmt.Errorf("input data, stream %d, step %d: %w", e.Stream, e.Step, err)
	}
	request := b.request("POST", b.target.uri, body)
	sent := request[len(request)-len(body):]
	return &payload{
		request: request,
		inputs:  export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: sent}}},
	}, nil
}

func (b *Backend) bodyOf(e *workload.Entry) ([]byte, error) {
	value, ok := e.Values.Get("payload")
	if !ok {
		return nil, fmt.Errorf(`no "payload"; a request to an OpenAI-compatible server is {"payload": [{…body…}]}`)
	}
	for _, f := range e.Values {
		switch f.Name {
		case "payload", "model", "session_id", "delay", "timestamp":
		default:
			return nil, fmt.Errorf("%q is no input of an OpenAI-compatible server; the request's body belongs into %q", f.Name, "payload")
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
	for _, set := range [][]byte{b.extra, b.stream()} {
		if body, err = openai.MergeRequest(body, set); err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
	}
	return b.withModel(body)
}

// onlyElement returns the element of a JSON array with one.
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

func (b *Backend) stream() []byte {
	if b.cfg.Streaming {
		return []byte(`{"stream":true}`)
	}
	return nil
}

// withModel puts the model into a body that names none.
func (b *Backend) withModel(body []byte) ([]byte, error) {
	info, err := openai.InspectRequest(body)
	if err != nil || info.Model != "" {
		return body, err
	}
	if b.model == "" {
		if len(b.listed) > 1 {
			return nil, fmt.Errorf("the body names no model and the server has %s; choose one with -m", someNames(b.listed))
		}
		return body, nil
	}
	name, err := json.Marshal(b.model)
	if err != nil {
		return nil, err
	}
	return openai.MergeRequest(body, append(append([]byte(`{"model":`), name...), '}'))
}

// request returns a whole request. A nil body is none.
func (b *Backend) request(method, uri string, body []byte) []byte {
	var w bytes.Buffer
	w.Grow(len(body) + 1024)
	line := func(name, value string) {
		w.WriteString(name)
		w.WriteString(": ")
		w.WriteString(value)
		w.WriteString("\r\n")
	}
	ours := func(name, value string) {
		for _, h := range b.cfg.Headers {
			if strings.EqualFold(h.Name, name) {
				return
			}
		}
		line(name, value)
	}
	w.WriteString(method + " " + uri + " HTTP/1.1\r\n")
	ours("Host", b.target.host)
	ours("User-Agent", userAgent)
	ours("Accept", "*/*")
	if auth := b.target.auth; auth.Value != "" {
		ours(auth.Name, auth.Value)
	}
	for _, h := range b.cfg.Headers {
		line(h.Name, h.Value)
	}
	if body != nil {
		ours("Content-Type", "application/json")
		line("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteString("\r\n")
	w.Write(body)
	return w.Bytes()
}
