package kserve

import (
	"slices"
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

// modelConfig is the part of a model's configuration that Check uses.
type modelConfig struct {
	maxBatch  int
	decoupled bool
	stateful  bool
	optional  []string // inputs
	steps     []string // the models of an ensemble
}

// apply adds the configuration to m. The shapes of m come from the metadata, with a leading
// batch dimension if the model takes batches, which apply removes.
func (c modelConfig) apply(m *modelInfo) {
	m.MaxBatch, m.Decoupled, m.Stateful = c.maxBatch, c.decoupled, c.stateful
	for _, ts := range [][]tensorSpec{m.Inputs, m.Outputs} {
		for i := range ts {
			if c.maxBatch > 0 && len(ts[i].Shape) > 0 {
				ts[i].Shape = ts[i].Shape[1:]
			}
			ts[i].Optional = slices.Contains(c.optional, ts[i].Name)
		}
	}
}
