package sim

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// modelVersion is the only version of every model.
const modelVersion = "1"

// A tensorSpec is an input or output of an interface.
type tensorSpec struct {
	name     string
	datatype kserve.Datatype
	dims     []int64 // without the batch dimension
	optional bool
}

// An interfaceSpec is what a model of an interface takes and gives.
type interfaceSpec struct {
	inputs, outputs []tensorSpec
	maxBatch        int // 0: no batch dimension
	decoupled       bool
}

// The roles of a language model's inputs in interfaceSpec.inputs.
const (
	promptInput = iota
	streamInput
	samplingInput
)

func llmSpec(prompt, stream, sampling, output string) interfaceSpec {
	return interfaceSpec{
		inputs: []tensorSpec{
			{name: prompt, datatype: kserve.BYTES, dims: []int64{1}},
			{name: stream, datatype: kserve.BOOL, dims: []int64{1}, optional: true},
			{name: sampling, datatype: kserve.BYTES, dims: []int64{1}, optional: true},
		},
		outputs:   []tensorSpec{{name: output, datatype: kserve.BYTES, dims: []int64{-1}}},
		decoupled: true,
	}
}

// spec returns what a model of the interface takes and gives.
func (i Interface) spec() interfaceSpec {
	switch i {
	case VLLM:
		return llmSpec("text_input", "stream", "sampling_parameters", "text_output")
	case VLLM2309:
		return llmSpec("PROMPT", "STREAM", "SAMPLING_PARAMETERS", "TEXT")
	}
	vector := func(name string) tensorSpec {
		return tensorSpec{name: name, datatype: kserve.INT32, dims: []int64{16}}
	}
	return interfaceSpec{
		inputs:   []tensorSpec{vector("INPUT0"), vector("INPUT1")},
		outputs:  []tensorSpec{vector("OUTPUT0"), vector("OUTPUT1")},
		maxBatch: 8,
	}
}

// shape returns dims with an open batch dimension where the model has one.
func (s interfaceSpec) shape(t tensorSpec) []int64 {
	if s.maxBatch > 0 {
		return append([]int64{-1}, t.dims...)
	}
	return t.dims
}

// A tritonError is an error that the Triton APIs answer with.
type tritonError struct {
	code    codes.Code
	message string
}

func (e *tritonError) Error() string { return e.message }

func tritonErrorf(code codes.Code, format string, args ...any) *tritonError {
	return &tritonError{code, fmt.Sprintf(format, args...)}
}

// httpStatus returns the status that goes with the code.
func (e *tritonError) httpStatus() int {
	switch e.code {
	case codes.InvalidArgument:
		return http.StatusBadRequest
	case codes.NotFound:
		return http.StatusNotFound
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.Unimplemented:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// model finds a model; version "" is any.
func (s *Server) model(name, version string) (TritonModel, *tritonError) {
	for _, m := range s.config.TritonModels {
		if m.Name != name {
			continue
		}
		if version != "" && version != modelVersion {
			return m, tritonErrorf(codes.NotFound, "model '%s' has no version %s, only %s", name, clip(version), modelVersion)
		}
		return m, nil
	}
	return TritonModel{}, tritonErrorf(codes.NotFound, "there is no model '%s' in the repository", clip(name))
}

// A job is an inference request that was understood.
type job struct {
	model  TritonModel
	id     string
	plan   *plan
	stream bool // of a language model: one response per event
	// emptyFinal says that the client wants the final flag alone too.
	emptyFinal bool
	outputs    []kserve.Tensor // of an AddSub model
}

// job understands a request: it checks the inputs against the model and plans
// the answer. index is the request's.
func (s *Server) job(index uint64, r *kserve.Request) (*job, *tritonError) {
	m, terr := s.model(r.Model, r.Version)
	if terr != nil {
		return nil, terr
	}
	spec := m.Interface.spec()
	inputs, batch, terr := matchInputs(m.Name, spec, r.Inputs)
	if terr != nil {
		return nil, terr
	}
	for _, o := range r.Outputs {
		if !slices.ContainsFunc(spec.outputs, func(t tensorSpec) bool { return t.name == o.Name }) {
			return nil, tritonErrorf(codes.InvalidArgument, "model '%s' has no output '%s'", m.Name, clip(o.Name))
		}
	}
	j := &job{model: m, id: r.ID}
	for _, p := range r.Params {
		if p.Name == kserve.ParamEmptyFinal {
			j.emptyFinal, _ = p.Value.(bool)
		}
	}
	params, err := parameters(r.Params)
	switch {
	case err != nil:
	case m.Interface == AddSub:
		err = s.planAddSub(j, index, params, inputs, batch)
	default:
		err = s.planText(j, index, params, inputs)
	}
	if errors.As(err, &terr) {
		return nil, terr
	}
	if err != nil {
		return nil, tritonErrorf(codes.InvalidArgument, "%s", err)
	}
	return j, nil
}

// matchInputs returns the inputs in the order of the specification (the zero
// Tensor for an absent one), and the size of the batch.
func matchInputs(model string, spec interfaceSpec, given []kserve.Tensor) ([]kserve.Tensor, int64, *tritonError) {
	bad := func(format string, args ...any) ([]kserve.Tensor, int64, *tritonError) {
		return nil, 0, tritonErrorf(codes.InvalidArgument, "model '"+model+"': "+format, args...)
	}
	inputs := make([]kserve.Tensor, len(spec.inputs))
	batch := int64(-1)
	for _, t := range given {
		i := slices.IndexFunc(spec.inputs, func(s tensorSpec) bool { return s.name == t.Name })
		switch {
		case i < 0:
			return bad("there is no input '%s'", clip(t.Name))
		case inputs[i].Name != "":
			return bad("input '%s' is there twice", t.Name)
		case t.Datatype != spec.inputs[i].datatype:
			return bad("input '%s' has data type %s, expected %s", t.Name, clip(string(t.Datatype)), spec.inputs[i].datatype)
		}
		dims := t.Shape
		if spec.maxBatch > 0 && len(dims) > 0 {
			if dims[0] < 1 || dims[0] > int64(spec.maxBatch) || batch >= 0 && dims[0] != batch {
				return bad("input '%s' has batch size %d, expected the same of 1 to %d for all inputs", t.Name, dims[0], spec.maxBatch)
			}
			batch, dims = dims[0], dims[1:]
		}
		if !slices.Equal(dims, spec.inputs[i].dims) {
			return bad("input '%s' has shape %s, expected %s", t.Name, kserve.ShapeString(t.Shape), kserve.ShapeString(spec.shape(spec.inputs[i])))
		}
		if err := kserve.CheckSize(t.Datatype, t.Shape, t.Data); err != nil {
			return bad("input '%s': %s", t.Name, err)
		}
		inputs[i] = t
	}
	for i, t := range spec.inputs {
		if inputs[i].Name == "" && !t.optional {
			return bad("input '%s' is missing; %d of %d inputs were given", t.name, len(given), len(spec.inputs))
		}
	}
	return inputs, batch, nil
}

// parameters returns the request's parameters as a JSON object.
func parameters(params []kserve.Param) ([]byte, error) {
	given := map[string]any{}
	for _, p := range params {
		given[p.Name] = p.Value
	}
	b, err := json.Marshal(given)
	if err != nil { // NaN has no JSON
		return nil, fmt.Errorf("parameters: %w", err)
	}
	return b, nil
}

// planText plans the answer of a language model. Request parameters precede
// sampling parameters.
func (s *Server) planText(j *job, index uint64, params []byte, inputs []kserve.Tensor) error {
	prompt, _, _ := kserve.NextBytes(inputs[promptInput].Data)
	j.stream = len(inputs[streamInput].Data) > 0 && inputs[streamInput].Data[0] != 0
	f := &fields{}
	if sampling, _, ok := kserve.NextBytes(inputs[samplingInput].Data); ok && len(sampling) > 0 {
		if err := json.Unmarshal(sampling, f); err != nil {
			return fmt.Errorf("sampling parameters: %w", err)
		}
	}
	if err := json.Unmarshal(params, f); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	a, err := s.ask(index, f, []int{countWords(string(prompt))}, []string{string(prompt)}, 1)
	if err != nil {
		return err
	}
	if !j.stream {
		a.final = FinalAttached
	}
	j.plan = newPlan(s.config.Seed, a)
	return nil
}

// planAddSub computes the answer of an AddSub model.
func (s *Server) planAddSub(j *job, index uint64, params []byte, inputs []kserve.Tensor, batch int64) error {
	f := &fields{}
	if err := json.Unmarshal(params, f); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	a, err := s.ask(index, f, []int{0}, nil, 1)
	if err != nil {
		return err
	}
	if f.TTFTMillis == nil {
		a.ttft = s.config.AddSubDelay
	}
	a.final = FinalAttached
	j.plan = newPlan(s.config.Seed, a)
	j.plan.lengths, j.plan.faultAfter = nil, 0
	x, y := inputs[0].Data, inputs[1].Data
	if int32(binary.LittleEndian.Uint32(x)) == -1 {
		return tritonErrorf(codes.Internal, "INPUT0 starts with -1")
	}
	sum, difference := make([]byte, 0, len(x)), make([]byte, 0, len(x))
	for i := 0; i < len(x); i += 4 {
		v, w := binary.LittleEndian.Uint32(x[i:]), binary.LittleEndian.Uint32(y[i:])
		sum = binary.LittleEndian.AppendUint32(sum, v+w)
		difference = binary.LittleEndian.AppendUint32(difference, v-w)
	}
	shape := []int64{batch, 16}
	j.outputs = []kserve.Tensor{
		{Name: "OUTPUT0", Datatype: kserve.INT32, Shape: shape, Data: sum},
		{Name: "OUTPUT1", Datatype: kserve.INT32, Shape: shape, Data: difference},
	}
	return nil
}

// text makes the output tensor of a language model.
func (j *job) text(s string) []kserve.Tensor {
	name := j.model.Interface.spec().outputs[0].name
	return []kserve.Tensor{{Name: name, Datatype: kserve.BYTES, Shape: []int64{1}, Data: kserve.AppendBytes(nil, s)}}
}

// events returns the responses of a job, each rendered from its outputs (nil
// for an empty final response) and its final flag.
func (j *job) events(render func(outputs []kserve.Tensor, final bool) []byte) iter.Seq[event] {
	p := j.plan
	noFlag := p.fault == FaultNoDone
	return func(yield func(event) bool) {
		switch {
		case j.outputs != nil:
			yield(event{at: p.ttftDelay(), data: render(j.outputs, !noFlag), kind: eventOutput})
			return
		case !j.stream:
			texts, end := p.whole()
			yield(event{at: end, data: render(j.text(texts[0]), !noFlag), tokens: p.outputTokens(), kind: eventOutput})
			return
		}
		for s := range p.steps() {
			final := s.finish != "" && p.final == FinalAttached && !noFlag
			if !yield(event{at: s.at, data: render(j.text(s.text), final), tokens: s.tokens, kind: eventOutput}) {
				return
			}
			if s.finish != "" && p.final == FinalEmpty && j.emptyFinal {
				yield(event{at: s.at, data: render(nil, true), kind: eventDone})
			}
		}
	}
}

// modelStats counts a model's requests.
type modelStats struct {
	mu             sync.Mutex
	success, fail  uint64
	queue, compute time.Duration // of the successful
	failed         time.Duration
	last           time.Time
}

// count adds a request that has ended.
func (s *Server) count(model string, r *record) {
	st := s.stats[model]
	if st == nil {
		return
	}
	r.mu.Lock()
	e := r.entry
	r.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if e.End != EndOK {
		st.fail++
		st.failed += time.Duration(e.EndedNS - e.ReceivedNS)
		return
	}
	st.success++
	st.queue += time.Duration(e.StartedNS - e.ReceivedNS)
	st.compute += time.Duration(e.EndedNS - e.StartedNS)
	st.last = time.Unix(0, int64(e.EndedNS))
}
