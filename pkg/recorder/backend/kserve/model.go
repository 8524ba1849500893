package kserve

import (
	"slices"

	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A Model is what the server says about the model, from its metadata and its
// configuration.
type Model struct {
	Name      string
	Versions  []string
	MaxBatch  int  // max_batch_size; 0: no batch dimension
	Decoupled bool // answers any number of times
	Stateful  bool // takes sequences of requests
	Inputs    []TensorSpec
	Outputs   []TensorSpec
}

// A TensorSpec describes an input or output. Shape is without the batch
// dimension; −1 is open.
type TensorSpec struct {
	Name     string
	Datatype wire.Datatype
	Shape    []int64
	Optional bool
}

// input returns the input of that name, or nil.
func (m *Model) input(name string) *TensorSpec {
	i := slices.IndexFunc(m.Inputs, func(t TensorSpec) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Inputs[i]
}

func names(ts []TensorSpec) []string {
	s := make([]string, len(ts))
	for i := range ts {
		s[i] = ts[i].Name
	}
	return s
}

// modelConfig is what Check needs of a model's configuration.
type modelConfig struct {
	maxBatch  int
	decoupled bool
	stateful  bool
	optional  []string // inputs
}

// apply puts the configuration into m, whose shapes are as the metadata has
// them: with a leading batch dimension where the model takes batches.
func (c modelConfig) apply(m *Model) {
	m.MaxBatch, m.Decoupled, m.Stateful = c.maxBatch, c.decoupled, c.stateful
	for _, ts := range [][]TensorSpec{m.Inputs, m.Outputs} {
		for i := range ts {
			if c.maxBatch > 0 && len(ts[i].Shape) > 0 {
				ts[i].Shape = ts[i].Shape[1:]
			}
			ts[i].Optional = slices.Contains(c.optional, ts[i].Name)
		}
	}
}
