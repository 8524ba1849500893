package workload

import (
	"encoding/json"
	"fmt"
)

// A ModelChoice says which of several models each entry is sent to, as GenAI-Perf
// and AIPerf have it: entry n goes to model n mod N, or to one that is drawn.
type ModelChoice struct {
	// Names are the models, at least one, each once.
	Names []string
	// Random draws the model of an entry, each equally likely, by Seed and the
	// entry's number; else they take turns.
	Random bool
	Seed   uint64
	// Batch is the number of consecutive entries that go into one request, and so
	// to one model; 0 means 1.
	Batch int
	// Once says that no entry may be sent more than once: see [Models].
	Once bool
}

// Names of the choices, as --model-selection-strategy has them.
const (
	RoundRobinModels = "round_robin"
	RandomModels     = "random"
)

// minRandomEntries is how many entries there are at least when models are drawn: with a
// few entries, each of which keeps its model, shares would be far from equal.
const minRandomEntries = 1000

// Models returns the entries of src, each with its model. An entry that names one
// itself keeps it; the turns of a session all go to the model of the session, of
// which the n-th is treated as the n-th entry.
//
// Unless c.Once is set, there are as many rounds of the entries as it takes for
// models in turn to get equal numbers of them, and for 1000 entries where models
// are drawn. The error is one of src.
func Models(src Source, c ModelChoice) (Source, error) {
	m := &models{src: src, choice: c, rounds: 1}
	m.choice.Batch = max(c.Batch, 1)
	switch n := src.Len(); {
	case c.Once:
	case c.Random:
		m.rounds = (minRandomEntries + n - 1) / n
	default:
		// Entries until the turn is the first one's again; with batches, at the
		// beginning of one.
		for per := len(c.Names) * m.choice.Batch; n*m.rounds%per != 0; m.rounds++ {
		}
	}
	for k := range src.Len() {
		e, err := src.At(k)
		if err != nil {
			return nil, err
		}
		if e.Session == "" {
			continue
		}
		if m.sessions == nil {
			m.sessions = map[string]int{}
		}
		if _, ok := m.sessions[e.Session]; !ok {
			m.sessions[e.Session] = len(m.sessions)
		}
	}
	return m, nil
}

// models is the source.
type models struct {
	src      Source
	choice   ModelChoice
	rounds   int
	sessions map[string]int // in the order in which they begin; nil: none
}

// Len implements Source.
func (m *models) Len() int { return m.src.Len() * m.rounds }

// At implements Source.
func (m *models) At(k int) (Entry, error) {
	e, err := m.src.At(k % m.src.Len())
	if err != nil {
		return e, err
	}
	if e.Model, err = namedModel(&e); err != nil {
		return e, fmt.Errorf("%s: %w", e.Place(), err)
	}
	if e.Model == "" {
		n := k / m.choice.Batch
		if e.Session != "" {
			n = m.sessions[e.Session]
		}
		e.Model = m.choice.name(n)
	}
	return e, nil
}

// name returns the model of entry n.
func (c *ModelChoice) name(n int) string {
	if c.Random {
		return c.Names[below(mix(c.Seed, uint64(n)), uint64(len(c.Names)))]
	}
	return c.Names[n%len(c.Names)]
}

// namedModel returns the model that the data names for an entry: beside its
// tensors or its payload, within the payload, or among the members of a prompt; ""
// when there is none.
func namedModel(e *Entry) (string, error) {
	if v, ok := e.Values.Get("model"); ok {
		return parseModel(v.Data)
	}
	if v, ok := e.Values.Get("payload"); ok {
		var bodies []struct{ Model json.RawMessage }
		if json.Unmarshal(v.Data, &bodies) == nil && len(bodies) == 1 && bodies[0].Model != nil {
			return parseModel(bodies[0].Model)
		}
	}
	if e.Prompt == nil {
		return "", nil
	}
	if v, ok := e.Prompt.Extra.Get("model"); ok {
		return parseModel(v.Data)
	}
	var body struct{ Model json.RawMessage }
	if json.Unmarshal(e.Prompt.Body, &body) == nil && body.Model != nil {
		return parseModel(body.Model)
	}
	return "", nil
}

// parseModel reads a name, alone or as the one element of an array.
func parseModel(js []byte) (string, error) {
	var name string
	if json.Unmarshal(js, &name) == nil {
		return name, nil
	}
	var list []string
	if json.Unmarshal(js, &list) == nil && len(list) == 1 {
		return list[0], nil
	}
	return "", fmt.Errorf("\"model\": expected a name, found %.40s", js)
}
