package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// tritonHandler returns the handler of Triton's HTTP API. It renders the answers of the gRPC
// service as JSON.
func (s *Server) tritonHandler() http.Handler {
	g := &grpcServer{s: s}
	mux := http.NewServeMux()
	ok := func(http.ResponseWriter, *http.Request) {}
	mux.Handle("/v2/health/live", allowMethod(http.MethodGet, ok))
	mux.Handle("/v2/health/ready", allowMethod(http.MethodGet, ok))
	mux.Handle("/ledger", allowMethod(http.MethodGet, s.serveLedger))
	mux.Handle("/metrics", serveMetrics(s.writeTritonMetrics))
	mux.Handle("/v2", allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
		m, err := g.ServerMetadata(r.Context(), nil)
		writeProto(w, m, err)
	}))
	mux.Handle("/v2/repository/index", allowMethod(http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
		m, err := g.RepositoryIndex(r.Context(), nil)
		// The JSON is the list alone.
		all := []json.RawMessage{}
		for _, i := range m.GetModels() {
			all = append(all, appendProto(nil, i.ProtoReflect()))
		}
		b, jerr := json.Marshal(all)
		if err == nil {
			err = jerr
		}
		writeResult(w, b, err)
	}))
	mux.Handle("/v2/models/stats", allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
		m, err := g.ModelStatistics(r.Context(), &pb.ModelStatisticsRequest{})
		writeProto(w, m, err)
	}))
	mux.Handle("/v2/models/{model}/trace/setting", allowMethod(http.MethodPost, g.serveTraceSetting))
	mux.Handle("/v2/systemsharedmemory/region/{region}/register", allowMethod(http.MethodPost, g.serveRegister))
	mux.Handle("/v2/systemsharedmemory/region/{region}/unregister", allowMethod(http.MethodPost, g.serveUnregister))
	mux.Handle("/v2/systemsharedmemory/unregister", allowMethod(http.MethodPost, g.serveUnregister))
	mux.Handle("/v2/trace/setting", allowMethod(http.MethodPost, g.serveTraceSetting))
	for _, prefix := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.Handle(prefix, allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
			m, err := g.ModelMetadata(r.Context(), &pb.ModelMetadataRequest{Name: r.PathValue("model"), Version: r.PathValue("version")})
			writeProto(w, m, err)
		}))
		mux.Handle(prefix+"/ready", allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
			if _, terr := s.model(r.PathValue("model"), r.PathValue("version")); terr != nil {
				writeTritonError(w, terr)
			}
		}))
		mux.Handle(prefix+"/config", allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
			m, err := g.ModelConfig(r.Context(), &pb.ModelConfigRequest{Name: r.PathValue("model"), Version: r.PathValue("version")})
			writeProto(w, m.GetConfig(), err)
		}))
		mux.Handle(prefix+"/stats", allowMethod(http.MethodGet, func(w http.ResponseWriter, r *http.Request) {
			m, err := g.ModelStatistics(r.Context(), &pb.ModelStatisticsRequest{Name: r.PathValue("model"), Version: r.PathValue("version")})
			writeProto(w, m, err)
		}))
		mux.Handle(prefix+"/infer", allowMethod(http.MethodPost, s.inference(TritonHTTPInfer, plainErrorBody, counted(serveInfer))))
		mux.Handle(prefix+"/generate", allowMethod(http.MethodPost, s.inference(TritonGenerate, plainErrorBody, counted(serveGenerate))))
		mux.Handle(prefix+"/generate_stream", allowMethod(http.MethodPost, s.inference(TritonGenerateStream, plainErrorBody, counted(serveGenerate))))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, plainErrorBody(http.StatusNotFound, "there is nothing at "+clip(r.URL.Path)))
	})
	return mux
}

// counted wraps a handler so that the statistics of the model count the request.
func counted(serve func(*exchange)) func(*exchange) {
	return func(x *exchange) {
		x.s.setCounter(x.r.PathValue("model"), x.rec)
		serve(x)
	}
}

// serveInfer answers a request in KServe's format.
func serveInfer(x *exchange) {
	jsonBytes := -1
	if h := x.r.Header.Get(kserve.HeaderLength); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n < 0 || n > len(x.body) {
			x.fail(http.StatusBadRequest, fmt.Sprintf("header %s is %q, the body has %d bytes", kserve.HeaderLength, clip(h), len(x.body)))
			return
		}
		jsonBytes = n
	}
	q := &kserve.Request{}
	if err := q.ParseHTTP(x.body, jsonBytes); err != nil {
		x.fail(http.StatusBadRequest, err.Error())
		return
	}
	q.Model, q.Version = x.r.PathValue("model"), x.r.PathValue("version")
	x.rec.Update(func(e *Entry) { e.ID, e.Model = q.ID, q.Model })
	j, terr := x.s.job(x.index, q)
	switch {
	case terr != nil:
		x.fail(terr.httpStatus(), terr.message)
		return
	case j.spec.decoupled:
		x.fail(http.StatusBadRequest, fmt.Sprintf("model '%s' is decoupled; use generate_stream", j.model.Name))
		return
	}
	j.describe(x.rec)
	if x.strikeEarly(j.plan.Fault) || !x.begin() {
		return
	}
	defer x.s.release()
	r := &kserve.Response{Model: j.model.Name, Version: modelVersion, ID: j.id, Outputs: requestedOutputs(q, j.outputs)}
	body, n := r.AppendHTTP(nil)
	if n < len(body) {
		x.w.Header().Set(kserve.HeaderLength, strconv.Itoa(n))
	}
	x.answerWhole(j.plan, body, j.plan.FirstTokenAt())
}

// requestedOutputs returns the requested outputs in the requested order and form.
func requestedOutputs(q *kserve.Request, outputs []kserve.Tensor) []kserve.Tensor {
	binary := false
	for _, p := range q.Params {
		if p.Name == kserve.ParamBinaryOutput {
			binary, _ = p.Value.(bool)
		}
	}
	var all []kserve.Tensor
	for _, o := range outputs {
		o.Binary = binary
		if len(q.Outputs) == 0 {
			all = append(all, o)
		}
	}
	for _, asked := range q.Outputs {
		for _, o := range outputs {
			if o.Name == asked.Name {
				o.Binary = asked.Binary || binary
				all = append(all, o)
			}
		}
	}
	return all
}

// serveGenerate answers a request of the generate extension, as a stream or whole.
func serveGenerate(x *exchange) {
	name := x.r.PathValue("model")
	x.rec.Update(func(e *Entry) { e.Model = name })
	m, terr := x.s.model(name, x.r.PathValue("version"))
	if terr != nil {
		x.fail(terr.httpStatus(), terr.message)
		return
	}
	q, err := generateRequest(x.body, m.Interface.spec())
	if err != nil {
		x.fail(http.StatusBadRequest, err.Error())
		return
	}
	q.Model = name
	x.rec.Update(func(e *Entry) { e.ID = q.ID })
	j, terr := x.s.job(x.index, q)
	if terr != nil {
		x.fail(terr.httpStatus(), terr.message)
		return
	}
	j.describe(x.rec)
	p := j.plan
	asStream := strings.HasSuffix(x.r.URL.Path, "/generate_stream")
	if !asStream && j.stream {
		x.fail(http.StatusBadRequest, "generate answers with exactly 1 response; leave out stream, or use generate_stream")
		return
	}
	if x.strikeEarly(p.Fault) || !x.begin() {
		return
	}
	defer x.s.release()
	j.emptyFinal = false // never over HTTP
	if !asStream {
		for e := range j.events(func(o []kserve.Tensor, _ bool) []byte { return j.flat(o) }) {
			x.answerWhole(p, e.Data, e.At)
		}
		return
	}
	w := plan.Framing{SSE: true, Newline: newline(p.Fault), Garbage: []byte(garbage)}
	w.Failure = func() []byte {
		return frame(plainErrorBody(http.StatusInternalServerError, errorEventMessage), w.Newline)
	}
	events := j.events(func(o []kserve.Tensor, _ bool) []byte { return frame(j.flat(o), w.Newline) })
	x.answer(sseType, -1, p, plan.Script(events, p.Fault, p.FaultAfter, w))
}

// generateRequest converts a body of the generate extension to tensors and parameters. A key
// with the name of an input holds that input. "id" and "parameters" keep their meaning. Any
// other key is a parameter.
func generateRequest(body []byte, spec interfaceSpec) (*kserve.Request, error) {
	var flat map[string]json.RawMessage
	if err := json.Unmarshal(body, &flat); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	q := &kserve.Request{}
	for _, t := range spec.inputs {
		js, ok := flat[t.name]
		if !ok {
			continue
		}
		delete(flat, t.name)
		in, err := kserve.ParseInput(js, t.datatype)
		if err != nil {
			return nil, fmt.Errorf("input '%s': %w", t.name, err)
		}
		shape := in.Shape
		switch {
		case shape != nil:
		case spec.maxBatch > 0:
			shape = []int64{1, in.Count}
		default:
			shape = []int64{in.Count}
		}
		q.Inputs = append(q.Inputs, kserve.Tensor{Name: t.name, Datatype: t.datatype, Shape: shape, Data: in.Data})
	}
	if js, ok := flat["id"]; ok {
		delete(flat, "id")
		if err := json.Unmarshal(js, &q.ID); err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
	}
	params := map[string]any{}
	if js, ok := flat["parameters"]; ok {
		delete(flat, "parameters")
		if err := json.Unmarshal(js, &params); err != nil {
			return nil, fmt.Errorf("parameters: %w", err)
		}
	}
	for name, js := range flat {
		var v any
		if err := json.Unmarshal(js, &v); err != nil {
			return nil, fmt.Errorf("%q: %w", clip(name), err)
		}
		params[name] = v
	}
	for name, v := range params {
		switch v.(type) {
		case bool, float64, string:
			q.Params = append(q.Params, kserve.Param{Name: name, Value: v})
		default:
			return nil, fmt.Errorf("parameter %q is not a bool, number or string", clip(name))
		}
	}
	return q, nil
}

// flat returns a response of the generate extension: every output is a key, and a single
// element is a plain value.
func (j *job) flat(outputs []kserve.Tensor) []byte {
	b := []byte{'{'}
	if j.id != "" {
		b = append(appendString(append(b, `"id":`...), j.id), ',')
	}
	b = appendString(append(b, `"model_name":`...), j.model.Name)
	b = appendString(append(b, `,"model_version":`...), modelVersion)
	for _, o := range outputs {
		b = append(appendString(append(b, ','), o.Name), ':')
		if n, err := kserve.Count(o.Shape); err == nil && n == 1 {
			array := kserve.AppendJSON(nil, o.Datatype, o.Data)
			b = append(b, array[1:len(array)-1]...)
		} else {
			b = kserve.AppendJSON(b, o.Datatype, o.Data)
		}
	}
	return append(b, '}')
}

// plainErrorBody returns the body of an error of Triton's HTTP API and of Ollama.
func plainErrorBody(_ int, message string) []byte {
	return append(appendString([]byte(`{"error":`), message), '}')
}

func writeTritonError(w http.ResponseWriter, e *tritonError) {
	writeJSON(w, e.httpStatus(), plainErrorBody(0, e.message))
}

// writeProto answers with a message of the gRPC service as JSON, or its error.
func writeProto(w http.ResponseWriter, m proto.Message, err error) {
	if err != nil {
		writeResult(w, nil, err)
		return
	}
	writeResult(w, appendProto(nil, m.ProtoReflect()), nil)
}

func writeResult(w http.ResponseWriter, body []byte, err error) {
	if err != nil {
		st := status.Convert(err)
		writeTritonError(w, tritonErrorf(st.Code(), "%s", st.Message()))
		return
	}
	writeJSON(w, http.StatusOK, body)
}
