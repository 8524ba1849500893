package drive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// varies is the value of a parameter that differs between requests.
const varies = "varies"

// promptHash hashes what the model reads of the requests, and collects the parameters that
// stand beside it: a run with another temperature has the same prompts.
type promptHash struct {
	datasetHash
	requests   int
	parameters map[string]string // as compact JSON
}

func newPromptHash() *promptHash {
	return &promptHash{datasetHash: datasetHash{sha256.New()}, parameters: map[string]string{}}
}

// parameterLists are the parameters of a JSON request that are no single value.
var parameterLists = map[string]bool{
	"stop": true, "stop_token_ids": true, "logit_bias": true, "stream_options": true, "response_format": true, "tool_choice": true,
	"metadata": true, "reasoning": true, "modalities": true, "bad_words": true,
}

// comparedElsewhere are members that a comparison looks at in other places.
var comparedElsewhere = map[string]bool{"model": true, "stream": true}

// add adds a request. Of a JSON object in the field "payload", the members that the model
// reads count as the prompt, with other lists and objects that are no known parameters;
// single values are parameters, without credentials. All other fields, such as tensors, are prompt.
func (p *promptHash) add(in export.Fields) {
	p.requests++
	p.number(uint64(len(in)))
	for _, f := range in {
		p.part([]byte(f.Name))
		var members map[string]json.RawMessage
		if f.Name != "payload" || json.Unmarshal(f.Value.Data, &members) != nil {
			p.part(f.Value.Data)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			value := members[name]
			switch list := len(value) > 0 && (value[0] == '[' || value[0] == '{'); {
			case comparedElsewhere[name]:
			case openai.ReadByModel(name), list && !parameterLists[name]:
				p.part([]byte(name))
				p.part(value)
			default:
				p.parameter(name, redact.Member(name, string(value)))
			}
		}
	}
}

// parameter notes the value of a parameter in the latest request.
func (p *promptHash) parameter(name, value string) {
	const longest = 200 // bytes
	if len(value) > longest {
		sum := sha256.Sum256([]byte(value))
		value = "sha256:" + hex.EncodeToString(sum[:])
	}
	before, known := p.parameters[name]
	switch {
	case !known && p.requests == 1:
		p.parameters[name] = value
	case !known || before != value:
		p.parameters[name] = varies
	}
}
