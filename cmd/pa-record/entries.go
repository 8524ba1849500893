package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// newEntries is what to send. notes are for the user.
func newEntries(s *settings) (entries []workload.Entry, notes []string, err error) {
	fill := workload.Fill{Kind: workload.FillRandom, Seed: s.Seed, StringLength: s.StringLength, StringData: s.StringData}
	switch {
	case len(s.InputData) == 1 && s.InputData[0] == "zero":
		fill.Kind = workload.FillZero
		entries = []workload.Entry{{}}
	case len(s.InputData) == 1 && s.InputData[0] == "random":
		entries = []workload.Entry{{}}
	case len(s.InputData) > 0:
		fill = workload.Fill{}
		data, err := workload.ReadInputData(s.InputData)
		if err != nil {
			return nil, nil, err
		}
		notes = data.Warnings
		if len(data.Streams) > 1 {
			notes = append(notes, "the input data holds several streams; only the first is sent, as for all models but stateful ones")
		}
		entries = data.Streams[0]
	case s.ServiceKind == kindTriton:
		entries = []workload.Entry{{}}
		notes = append(notes, "no --input-data: sending random tensors and strings")
	case s.endpointPath() == chatEndpoint:
		entries = workload.BuiltinChat(s.Streaming)
		notes = append(notes, "no --input-data: sending the built-in prompts")
	case s.endpointPath() == completionsEndpoint:
		entries = workload.BuiltinCompletions(s.Streaming)
		notes = append(notes, "no --input-data: sending the built-in prompts")
	default:
		return nil, nil, errors.New("no --input-data, and there are no built-in requests for --endpoint " + s.Endpoint)
	}
	for i := range entries {
		entries[i].Fill, entries[i].Shapes = fill, s.Shapes
	}
	return entries, notes, nil
}

// endpointPath is the endpoint without its query.
func (s *settings) endpointPath() string {
	path, _, _ := strings.Cut(s.rawEndpoint, "?")
	return strings.Trim(path, "/")
}

// asksToStream reports whether streamed answers are asked for: by the flag, by
// --extra-body, or by the requests themselves.
func asksToStream(s *settings, entries []workload.Entry) bool {
	if s.Streaming || s.ServiceKind != kindOpenAI {
		return s.Streaming
	}
	if extra, err := openai.InspectRequest(s.ExtraBody); err == nil && extra.HasStream {
		return extra.Stream
	}
	for _, e := range entries {
		payload, _ := e.Values.Get("payload")
		body := bytes.TrimSuffix(bytes.TrimPrefix(payload.Data, []byte("[")), []byte("]"))
		if info, err := openai.InspectRequest(body); err == nil && info.Stream {
			return true
		}
	}
	return false
}
