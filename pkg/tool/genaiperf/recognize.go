package genaiperf

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// recognize sets kind, format and parser from the first request of the file.
func (a *analysis) recognize(q *export.Request) {
	a.known = true
	a.kind = a.serviceKind(q)
	if a.kind == "openai" {
		a.format = a.findFormat(q)
	}
	a.clean.format = a.format
	a.parser = a.findParser()
}

// noFirstRequest sets format and parser for a file whose first level has no requests, and
// raises the release's exception.
func (a *analysis) noFirstRequest() {
	if a.rules.needsKind && a.run.ServiceKind == nil {
		a.raise(keyError("service_kind"))
	} else if k := a.run.ServiceKind; a.rules.needsKind && *k == "openai" && a.asksFirstRequest() {
		a.raise(errIndex)
	}
	a.format = formatOf(a.cfg.EndpointType)
	if a.format == formatUnknown && a.run.Endpoint != nil {
		a.format, _, _ = anyFormat.find(*a.run.Endpoint, "", "", false)
	}
	a.parser = a.findParser()
}

// asksFirstRequest reports whether the release needs the first request to find the
// format.
func (a *analysis) asksFirstRequest() bool {
	if a.run.Endpoint == nil {
		return false
	}
	f, ok, _ := a.rules.formats.find(*a.run.Endpoint, "", "", false)
	return !ok || f == formatChat && a.rules.formats.multimodal != nil
}

// serviceKind returns the service kind of the export, as perf_analyzer names
// it.
func (a *analysis) serviceKind(q *export.Request) string {
	kind := a.cfg.ServiceKind
	if kind == "" {
		switch t := a.cfg.EndpointType; t {
		case "kserve":
			kind = "triton"
		case "tensorrtllm_engine", "dynamic_grpc":
			kind = t
		}
	}
	if kind == "tensorrtllm_engine" {
		kind = "triton_c_api"
	}
	file := a.run.ServiceKind
	if file == nil && a.rules.needsKind {
		a.raise(keyError("service_kind"))
	}
	if kind == "" && file != nil {
		kind = *file
	}
	if kind == "" {
		kind = guessKind(q)
	}
	if !slices.Contains(a.rules.kinds, kind) {
		a.raise(valueError("Unknown service kind: %s", kind))
	}
	return kind
}

// guessKind infers the service kind from the names of inputs and outputs.
func guessKind(q *export.Request) string {
	if _, ok := q.Inputs.Get("payload"); ok {
		return "openai"
	}
	for i := range q.Responses {
		if _, ok := q.Responses[i].Outputs.Get("response"); ok {
			return "openai"
		}
		if _, ok := q.Responses[i].Outputs.Get("output_ids"); ok {
			return "triton_c_api"
		}
	}
	return "triton"
}

// findFormat returns the format of the answers of an OpenAI server.
func (a *analysis) findFormat(q *export.Request) format {
	endpoint := a.cfg.Endpoint
	if endpoint == "" && a.run.Endpoint != nil {
		endpoint = *a.run.Endpoint
	}
	payload, hasPayload := q.Inputs.Get("payload")
	asked := text(payload)
	answer, hasAnswer := "", len(q.Responses) > 0
	if hasAnswer {
		v, _ := q.Responses[0].Outputs.Get("response")
		answer = text(v)
	}
	given := formatOf(a.cfg.EndpointType)
	if a.rules.needsKind && a.run.ServiceKind != nil {
		f, ok, sniffed := a.rules.formats.find(endpoint, asked, answer, hasAnswer)
		looks := sniffed || f == formatChat || f == formatMultimodal
		switch {
		case a.run.Endpoint == nil:
			a.raise(keyError("endpoint"))
		case looks && a.rules.formats.multimodal != nil && q.Inputs == nil:
			a.raise(keyError("request_inputs"))
		case looks && a.rules.formats.multimodal != nil && !hasPayload:
			a.raise(keyError("payload"))
		case sniffed && !hasAnswer:
			a.raise(errIndex)
		case ok:
			return f
		default:
			a.raise(&exception{"RuntimeError", "Unknown OpenAI response format."})
		}
	}
	f := given
	if f == formatUnknown {
		var ok bool
		if f, ok, _ = anyFormat.find(endpoint, asked, answer, hasAnswer); !ok {
			f = guessByPayload(asked)
		}
	}
	if f == formatMultimodal && a.rules.formats.multimodal == nil {
		return formatChat
	}
	return f
}

// findParser returns the parser that the release would have used. The release chooses it
// by the endpoint type on its command line.
func (a *analysis) findParser() parser {
	given := a.cfg.EndpointType
	if given == "" {
		given = a.rules.endpointType(a.format)
		if a.kind == "dynamic_grpc" {
			given = a.kind
		}
	}
	switch {
	case slices.Contains(a.rules.latencyOnly, given):
		return parseLatency
	case given == "image_retrieval" && a.rules.images != imagesNot:
		return parseImages
	}
	return parseText
}
