package main

import (
	"errors"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// newEntries is what to send. notes are for the user.
func newEntries(s *settings) (_ workload.Source, notes []string, err error) {
	var entries workload.List
	fill := workload.Fill{Kind: workload.FillRandom, Seed: s.Seed, StringLength: s.StringLength, StringData: s.StringData}
	switch {
	case len(s.InputData) == 1 && s.InputData[0] == "zero":
		fill.Kind = workload.FillZero
		entries = workload.List{{}}
	case len(s.InputData) == 1 && s.InputData[0] == "random":
		entries = workload.List{{}}
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
		entries = workload.List{{}}
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
