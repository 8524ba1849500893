package kserve

import (
	"slices"
	"strconv"
	"strings"

	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A modelInfo describes the model, from its metadata and configuration.
type modelInfo struct {
	Name      string
	MaxBatch  int  // max_batch_size; 0: no batch dimension
	Decoupled bool // may send any number of responses
	Stateful  bool // keeps state from one request of a sequence to the next
	Inputs    []tensorSpec
	Outputs   []tensorSpec
}

// A tensorSpec describes an input or output. Its Shape has no batch dimension; −1 is an
// open dimension.
type tensorSpec struct {
	Name     string
	Datatype wire.Datatype
	Shape    []int64
	Optional bool `json:"-"`
}

// input returns the input of that name, or nil.
func (m *modelInfo) input(name string) *tensorSpec { return findSpec(m.Inputs, name) }

// output returns the output of that name, or nil.
func (m *modelInfo) output(name string) *tensorSpec { return findSpec(m.Outputs, name) }

func findSpec(ts []tensorSpec, name string) *tensorSpec {
	i := slices.IndexFunc(ts, func(t tensorSpec) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &ts[i]
}

// joinNames lists tensors in a message.
func joinNames(ts []tensorSpec) string { return strings.Join(names(ts), ", ") }

func names(ts []tensorSpec) []string {
	s := make([]string, len(ts))
	for i := range ts {
		s[i] = ts[i].Name
	}
	return s
}

// modelConfig is the part of a model's configuration that is used, in Triton's JSON.
type modelConfig struct {
	Platform, Backend string
	MaxBatch          int64 `json:"max_batch_size"`
	Policy            struct {
		Decoupled bool
	} `json:"model_transaction_policy"`
	Cache struct {
		Enable bool
	} `json:"response_cache"`
	Dynamic  *struct{} `json:"dynamic_batching"`
	Sequence *struct{} `json:"sequence_batching"`
	Ensemble struct {
		Step []ensembleStep
	} `json:"ensemble_scheduling"`
	Input []struct {
		Name     string
		Optional bool
	}
}

// An ensembleStep is a model of an ensemble.
type ensembleStep struct {
	Model   string      `json:"model_name"`
	Version stepVersion `json:"model_version"`
}

// A stepVersion is the version of a model in an ensemble: a number, or one in a string; "" for −1, the latest, and for
// anything else.
type stepVersion string

// UnmarshalJSON implements json.Unmarshaler.
func (v *stepVersion) UnmarshalJSON(js []byte) error {
	*v = ""
	if n, err := strconv.ParseInt(strings.Trim(string(js), `"`), 10, 64); err == nil && n >= 0 {
		*v = stepVersion(strconv.FormatInt(n, 10))
	}
	return nil
}

// steps returns the names of the models of an ensemble.
func (c *modelConfig) steps() []string {
	var all []string
	for _, step := range c.Ensemble.Step {
		all = append(all, step.Model)
	}
	return all
}

// apply adds the configuration to m. The shapes of m come from the metadata, with a leading
// batch dimension if the model takes batches, which apply removes.
func (c *modelConfig) apply(m *modelInfo) {
	m.MaxBatch, m.Decoupled, m.Stateful = int(max(c.MaxBatch, 0)), c.Policy.Decoupled, c.Sequence != nil
	optional := map[string]bool{}
	for _, in := range c.Input {
		optional[in.Name] = optional[in.Name] || in.Optional
	}
	for _, ts := range [][]tensorSpec{m.Inputs, m.Outputs} {
		for i := range ts {
			if c.MaxBatch > 0 && len(ts[i].Shape) > 0 {
				ts[i].Shape = ts[i].Shape[1:]
			}
			ts[i].Optional = optional[ts[i].Name]
		}
	}
}
