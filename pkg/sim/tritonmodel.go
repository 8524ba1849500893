package sim

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// modelVersion is the only version of every model.
const modelVersion = "1"

// A tensorSpec is an input or output of an interface.
type tensorSpec struct {
	name     string
	datatype kserve.Datatype
	dims     []int64 // without the batch dimension; −1 means any size
	role     role
	optional bool
}

// A role is the meaning of an input of a language model. Inputs without a role are accepted
// and ignored.
type role int

const (
	promptInput role = iota + 1
	streamInput
	samplingInput
	maxTokensInput
	minTokensInput
	excludeInput // false: echo the prompt
	countInputInput
	countOutputInput
	finishReasonInput
)

// An interfaceSpec describes the inputs and outputs of an interface.
type interfaceSpec struct {
	inputs, outputs []tensorSpec // outputs[0] of a language model is the text
	maxBatch        int          // 0 for no batch dimension
	decoupled       bool
	stateful        bool            // has sequences
	countType       kserve.Datatype // type of num_input_tokens and num_output_tokens
}

// spec returns the description of the interface.
func (i Interface) spec() interfaceSpec {
	one, open := []int64{1}, []int64{-1}
	required := func(name string, t kserve.Datatype, r role) tensorSpec {
		return tensorSpec{name: name, datatype: t, dims: one, role: r}
	}
	optional := func(name string, t kserve.Datatype, r role) tensorSpec {
		return tensorSpec{name: name, datatype: t, dims: one, role: r, optional: true}
	}
	switch i {
	case VLLM:
		return interfaceSpec{
			decoupled: true, countType: kserve.UINT32,
			inputs: []tensorSpec{
				required("text_input", kserve.BYTES, promptInput),
				optional("stream", kserve.BOOL, streamInput),
				optional("sampling_parameters", kserve.BYTES, samplingInput),
				optional("exclude_input_in_output", kserve.BOOL, excludeInput),
				optional("return_finish_reason", kserve.BOOL, finishReasonInput),
				optional("return_num_input_tokens", kserve.BOOL, countInputInput),
				optional("return_num_output_tokens", kserve.BOOL, countOutputInput),
				optional("return_cumulative_logprob", kserve.BOOL, 0),
				optional("return_logprobs", kserve.BOOL, 0),
			},
			outputs: []tensorSpec{
				{name: "text_output", datatype: kserve.BYTES, dims: open},
				{name: "finish_reason", datatype: kserve.BYTES, dims: open},
				{name: "num_input_tokens", datatype: kserve.UINT32, dims: one},
				{name: "num_output_tokens", datatype: kserve.UINT32, dims: open},
			},
		}
	case VLLM2309:
		return interfaceSpec{
			decoupled: true,
			inputs: []tensorSpec{
				required("PROMPT", kserve.BYTES, promptInput),
				optional("STREAM", kserve.BOOL, streamInput),
				optional("SAMPLING_PARAMETERS", kserve.BYTES, samplingInput),
			},
			outputs: []tensorSpec{{name: "TEXT", datatype: kserve.BYTES, dims: open}},
		}
	case TensorRTLLM:
		words := func(name string) tensorSpec {
			return tensorSpec{name: name, datatype: kserve.BYTES, dims: open, optional: true}
		}
		return interfaceSpec{
			decoupled: true, maxBatch: 64, countType: kserve.INT32,
			inputs: []tensorSpec{
				required("text_input", kserve.BYTES, promptInput),
				required("max_tokens", kserve.INT32, maxTokensInput),
				words("bad_words"),
				words("stop_words"),
				optional("stream", kserve.BOOL, streamInput),
				optional("min_tokens", kserve.INT32, minTokensInput),
				optional("min_length", kserve.INT32, minTokensInput), // of releases up to 24.09
				optional("return_num_input_tokens", kserve.BOOL, countInputInput),
				optional("return_num_output_tokens", kserve.BOOL, countOutputInput),
				optional("exclude_input_in_output", kserve.BOOL, 0),
				optional("end_id", kserve.INT32, 0),
				optional("pad_id", kserve.INT32, 0),
				optional("top_k", kserve.INT32, 0),
				optional("top_p", kserve.FP32, 0),
				optional("temperature", kserve.FP32, 0),
				optional("repetition_penalty", kserve.FP32, 0),
				optional("length_penalty", kserve.FP32, 0),
				optional("presence_penalty", kserve.FP32, 0),
				optional("frequency_penalty", kserve.FP32, 0),
				optional("seed", kserve.UINT64, 0),
				optional("random_seed", kserve.UINT64, 0),
				optional("beam_width", kserve.INT32, 0),
				optional("return_log_probs", kserve.BOOL, 0),
			},
			outputs: []tensorSpec{
				{name: "text_output", datatype: kserve.BYTES, dims: open},
				{name: "num_input_tokens", datatype: kserve.INT32, dims: one},
				{name: "num_output_tokens", datatype: kserve.INT32, dims: one},
			},
		}
	case Sequence:
		number := func(name string) tensorSpec { return tensorSpec{name: name, datatype: kserve.INT32, dims: one} }
		return interfaceSpec{inputs: []tensorSpec{number("INPUT")}, outputs: []tensorSpec{number("OUTPUT")}, maxBatch: 1, stateful: true}
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

// shape returns dims, with a batch dimension of any size if the model has one.
func (s interfaceSpec) shape(t tensorSpec) []int64 {
	if s.maxBatch > 0 {
		return append([]int64{-1}, t.dims...)
	}
	return t.dims
}

// A tritonError is an error response of the Triton APIs.
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

// model finds a model. Version "" matches any.
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

// A job is a parsed and planned inference request.
type job struct {
	model  TritonModel
	spec   interfaceSpec
	id     string
	batch  int64 // size of the batch; −1 for a model without batches
	plan   *plan.Plan
	stream bool // a language model sends one response per event
	// emptyFinal means that the client accepts an empty response with the final flag.
	emptyFinal bool
	// countInput, countOutput and finishReason select outputs besides the text.
	countInput, countOutput, finishReason bool
	outputs                               []kserve.Tensor // of a model with a single response
	step                                  sequenceStep    // of a Sequence model
}

// job checks the inputs of a request against the model and plans the answer. index is the
// index of the request.
func (s *Server) job(index uint64, r *kserve.Request) (*job, *tritonError) {
	m, terr := s.model(r.Model, r.Version)
	if terr != nil {
		return nil, terr
	}
	spec := m.Interface.spec()
	for i := range r.Inputs {
		if t := &r.Inputs[i]; t.Shared != nil {
			if t.Data, terr = s.shared.read(t.Shared); terr != nil {
				return nil, terr
			}
		}
	}
	inputs, batch, terr := matchInputs(m.Name, spec, r.Inputs)
	if terr != nil {
		return nil, terr
	}
	for _, o := range r.Outputs {
		if !slices.ContainsFunc(spec.outputs, func(t tensorSpec) bool { return t.name == o.Name }) {
			return nil, tritonErrorf(codes.InvalidArgument, "model '%s' has no output '%s'", m.Name, clip(o.Name))
		}
	}
	j := &job{model: m, spec: spec, id: r.ID, batch: batch}
	if spec.stateful {
		j.step = stepOf(r.Params)
	}
	for _, p := range r.Params {
		if p.Name == kserve.ParamEmptyFinal {
			j.emptyFinal, _ = p.Value.(bool)
		}
	}
	params, err := parameters(r.Params)
	switch {
	case err != nil:
	case !spec.decoupled:
		err = s.planOnce(j, index, params, inputs)
	default:
		err = s.planText(j, index, params, inputs)
	}
	if errors.As(err, &terr) {
		return nil, terr
	}
	if err != nil {
		return nil, tritonErrorf(codes.InvalidArgument, "%s", err)
	}
	if terr := s.share(j, r.Outputs); terr != nil {
		return nil, terr
	}
	return j, nil
}

// matchInputs returns the inputs in the order of the specification, with the zero Tensor for
// an absent one, and the size of the batch.
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
		if !slices.EqualFunc(dims, spec.inputs[i].dims, func(d, want int64) bool { return d == want || want < 0 && d >= 0 }) {
			return bad("input '%s' has shape %s, expected %s", t.Name, kserve.ShapeString(t.Shape), kserve.ShapeString(spec.shape(spec.inputs[i])))
		}
		if err := kserve.CheckSize(t.Datatype, t.Shape, t.Data); err != nil {
			return bad("input '%s': %s", t.Name, err)
		}
		inputs[i] = t
	}
	for i, t := range spec.inputs {
		if inputs[i].Name == "" && !t.optional {
			return bad("input '%s' is missing", t.name)
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

// planText plans the answer of a language model. Request parameters override inputs, which
// override sampling parameters.
func (s *Server) planText(j *job, index uint64, params []byte, inputs []kserve.Tensor) error {
	if j.batch > 1 {
		return fmt.Errorf("model '%s' streams one request at a time, not a batch of %d", j.model.Name, j.batch)
	}
	given := map[role][]byte{}
	for i, t := range j.spec.inputs {
		if len(inputs[i].Data) > 0 {
			given[t.role] = inputs[i].Data
		}
	}
	flag := func(r role) bool { return len(given[r]) > 0 && given[r][0] != 0 }
	f := &requestFields{}
	if sampling, _, ok := kserve.NextBytes(given[samplingInput]); ok && len(sampling) > 0 {
		if err := json.Unmarshal(sampling, f); err != nil {
			return fmt.Errorf("sampling parameters: %w", err)
		}
	}
	for r, to := range map[role]**number{maxTokensInput: &f.MaxTokens, minTokensInput: &f.MinTokens} {
		if b := given[r]; len(b) > 0 {
			n := number(int32(binary.LittleEndian.Uint32(b)))
			*to = &n
		}
	}
	if len(given[excludeInput]) > 0 && !flag(excludeInput) {
		f.Echo = true
	}
	if err := json.Unmarshal(params, f); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	j.stream = flag(streamInput)
	j.countInput, j.countOutput, j.finishReason = flag(countInputInput), flag(countOutputInput), flag(finishReasonInput)
	prompt, _, _ := kserve.NextBytes(given[promptInput])
	a, err := s.planRequest(index, f, []int{countWords(string(prompt))}, []string{string(prompt)}, 1)
	if err != nil {
		return err
	}
	if !j.stream {
		a.Final = plan.FinalAttached
	}
	j.plan = plan.New(s.config.Seed, a)
	return nil
}

// planOnce plans the answer of a model with a single response.
func (s *Server) planOnce(j *job, index uint64, params []byte, inputs []kserve.Tensor) error {
	f := &requestFields{}
	if err := json.Unmarshal(params, f); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	a, err := s.planRequest(index, f, []int{0}, nil, 1)
	if err != nil {
		return err
	}
	if f.TTFTMillis == nil {
		a.TTFT = s.config.AddSubDelay
	}
	a.Final = plan.FinalAttached
	j.plan = plan.NewTextless(s.config.Seed, a)
	if j.spec.stateful {
		return s.planSequence(j, inputs)
	}
	return planAddSub(j, inputs)
}

// planAddSub computes the answer of an AddSub model.
func planAddSub(j *job, inputs []kserve.Tensor) error {
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
	shape := []int64{j.batch, 16}
	j.outputs = []kserve.Tensor{
		{Name: "OUTPUT0", Datatype: kserve.INT32, Shape: shape, Data: sum},
		{Name: "OUTPUT1", Datatype: kserve.INT32, Shape: shape, Data: difference},
	}
	return nil
}

// text returns the outputs of a response of a language model. finish is "" until the last
// response.
func (j *job) text(text string, tokens int, finish string) []kserve.Tensor {
	shape, scalar := []int64{1}, []int64{} // vLLM's num_input_tokens has no dimension
	if j.spec.maxBatch > 0 {
		shape = []int64{1, 1}
		scalar = shape
	}
	outputs := []kserve.Tensor{{
		Name: j.spec.outputs[0].name, Datatype: kserve.BYTES, Shape: shape, Data: kserve.AppendBytes(nil, text),
	}}
	if j.finishReason {
		if finish == "" {
			finish = "None"
		}
		outputs = append(outputs, kserve.Tensor{
			Name: "finish_reason", Datatype: kserve.BYTES, Shape: shape, Data: kserve.AppendBytes(nil, finish),
		})
	}
	count := func(name string, n int, shape []int64) {
		outputs = append(outputs, kserve.Tensor{
			Name: name, Datatype: j.spec.countType, Shape: shape, Data: binary.LittleEndian.AppendUint32(nil, uint32(n)),
		})
	}
	if j.countInput {
		count("num_input_tokens", j.plan.InputTokens, scalar)
	}
	if j.countOutput {
		count("num_output_tokens", tokens, shape)
	}
	return outputs
}

// events returns the responses of a job. render gets the outputs of each, nil for an empty
// final response, and the final flag.
func (j *job) events(render func(outputs []kserve.Tensor, final bool) []byte) iter.Seq[plan.Event] {
	p := j.plan
	noFlag := p.Fault == plan.FaultNoDone
	return func(yield func(plan.Event) bool) {
		switch {
		case j.outputs != nil:
			yield(plan.Event{At: p.FirstTokenAt(), Data: render(j.outputs, !noFlag), Kind: plan.EventOutput})
			return
		case !j.stream:
			texts, end := p.Whole()
			yield(plan.Event{At: end, Data: render(j.text(texts[0], p.OutputTokens(), p.FinishReason(0)), !noFlag), Tokens: p.OutputTokens(), Kind: plan.EventOutput})
			return
		}
		for s := range p.Steps() {
			final := s.Finish != "" && p.Final == plan.FinalAttached && !noFlag
			if !yield(plan.Event{At: s.At, Data: render(j.text(s.Text, s.Tokens, s.Finish), final), Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
			if s.Finish != "" && p.Final == plan.FinalEmpty && j.emptyFinal {
				yield(plan.Event{At: s.At, Data: render(nil, true), Kind: plan.EventDone})
			}
		}
	}
}
