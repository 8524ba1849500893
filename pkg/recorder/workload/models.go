package workload

import (
	"encoding/json"
	"fmt"
)

// A ModelChoice assigns one of several models to each entry, as GenAI-Perf and AIPerf
// do: entry n goes to model n mod N, or to a random one.
type ModelChoice struct {
	// Names are the models: at least one, without duplicates.
	Names []string
	// Random draws the model of an entry uniformly, by Seed and the entry's number.
	// Otherwise the models take turns.
	Random bool
	Seed   uint64
	// Batch is the number of consecutive entries in one request, which go to the
	// same model; 0 means 1.
	Batch int
	// Once forbids sending an entry more than once; see [Models].
	Once bool
}

// Values of --model-selection-strategy.
const (
	RoundRobinModels = "round_robin"
	RandomModels     = "random"
)

// minRandomEntries is the least number of entries when models are random: each entry
// keeps its model, so with few entries the shares would be unequal.
const minRandomEntries = 1000

// Models returns the entries of src with their models. An entry that names a model keeps
// it. All turns of a session go to one model; session n counts as entry n.
//
// Unless c.Once is set, Models repeats the entries: until models that take turns have
// equal numbers of them, or until there are 1,000 entries for random models. It returns
// an error of src.
//
// Sessions stay sessions and are not repeated. In a session whose requests name models of the recording, the first of these stands
// for the first of c.Names, the next one for the next, and so on around.
func Models(src Source, c ModelChoice) (Source, error) {
	if all, ok := src.(Sessions); ok {
		return sessionModels(all, c), nil
	}
	m := &models{src: src, choice: c, rounds: 1}
	m.choice.Batch = max(c.Batch, 1)
	switch n := src.Len(); {
	case c.Once:
	case c.Random:
		m.rounds = (minRandomEntries + n - 1) / n
	default:
		// Repeat until the first model has its turn at the start of a batch.
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

// models is the source that Models returns.
type models struct {
	src      Source
	choice   ModelChoice
	rounds   int
	sessions map[string]int // position of each session by its first entry; nil for none
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

// namedModel returns the model that the data names for an entry: beside the tensors or
// the payload, within the payload, or among the members of a prompt. It returns "" if
// there is none.
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

// parseModel reads a name, or an array with one name.
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
