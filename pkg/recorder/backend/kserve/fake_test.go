package kserve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

func TestMain(m *testing.M) { nettest.RunStamped(m) }

// fakeModel is a model of fakeTriton. Shapes are as in the configuration,
// without the batch dimension.
type fakeModel struct {
	name      string
	maxBatch  int32
	decoupled bool
	notReady  bool
	inputs    []tensorSpec
	outputs   []tensorSpec
}

var (
	llm = fakeModel{
		name: "llm", decoupled: true,
		inputs: []tensorSpec{
			{Name: "text_input", Datatype: wire.BYTES, Shape: []int64{1}},
			{Name: "stream", Datatype: wire.BOOL, Shape: []int64{1}, Optional: true},
		},
		outputs: []tensorSpec{{Name: "text_output", Datatype: wire.BYTES, Shape: []int64{-1}}, {Name: "count", Datatype: wire.INT32, Shape: []int64{1}}},
	}
	adder = fakeModel{
		name: "adder", maxBatch: 8,
		inputs: []tensorSpec{
			{Name: "A", Datatype: wire.INT32, Shape: []int64{2}},
			{Name: "B", Datatype: wire.INT32, Shape: []int64{2}, Optional: true},
		},
		outputs: []tensorSpec{{Name: "SUM", Datatype: wire.INT32, Shape: []int64{2}}},
	}
	loading = fakeModel{name: "loading", notReady: true}
	open    = fakeModel{name: "open", inputs: []tensorSpec{
		{Name: "X", Datatype: wire.FP32, Shape: []int64{-1, 2}, Optional: true},
		{Name: "Y", Datatype: wire.BYTES, Shape: []int64{-1, -1}, Optional: true},
		{Name: "Z", Datatype: wire.FP16, Shape: []int64{-1}, Optional: true},
	}}
)

// fakeTriton answers like Triton over gRPC and HTTP, on loopback.
type fakeTriton struct {
	pb.UnimplementedGRPCInferenceServiceServer
	models []fakeModel
	// answer sends the responses to one request. Its error ends the stream,
	// or is the answer to a unary or HTTP request.
	answer func(ctx context.Context, req *wire.Request, send func(wire.Response)) error

	grpcAddr, httpAddr string
	grpc               *grpc.Server
	tls                *tls.Config // of clients; nil: no TLS

	mu   sync.Mutex
	seen []*wire.Request
	meta []metadata.MD
}

func startFake(t testing.TB, answer func(ctx context.Context, req *wire.Request, send func(wire.Response)) error) *fakeTriton {
	t.Helper()
	f := &fakeTriton{models: []fakeModel{llm, adder, loading, open}, answer: answer, grpc: grpc.NewServer()}
	f.grpcAddr = serveOn(t, f.grpc, f)
	h := httptest.NewServer(f)
	f.httpAddr = strings.TrimPrefix(h.URL, "http://")
	t.Cleanup(h.Close)
	return f
}

// startFakeTLS is startFake over TLS.
func startFakeTLS(t testing.TB, answer func(ctx context.Context, req *wire.Request, send func(wire.Response)) error) *fakeTriton {
	t.Helper()
	f := &fakeTriton{models: []fakeModel{llm, adder}, answer: answer}
	h := httptest.NewTLSServer(f)
	f.httpAddr = strings.TrimPrefix(h.URL, "https://")
	t.Cleanup(h.Close)
	f.grpc = grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: h.TLS.Certificates, MinVersion: tls.VersionTLS12})))
	f.grpcAddr = serveOn(t, f.grpc, f)
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	f.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return f
}

// serveGRPC serves impl on loopback until the test ends.
func serveGRPC(t testing.TB, impl pb.GRPCInferenceServiceServer) (addr string) {
	t.Helper()
	return serveOn(t, grpc.NewServer(), impl)
}

func serveOn(t testing.TB, s *grpc.Server, impl pb.GRPCInferenceServiceServer) (addr string) {
	t.Helper()
	l := nettest.Listen(t)
	pb.RegisterGRPCInferenceServiceServer(s, impl)
	done := make(chan struct{})
	go func() { // ends with Stop
		defer close(done)
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func (f *fakeTriton) model(name string) (*fakeModel, error) {
	for i := range f.models {
		if f.models[i].name == name {
			return &f.models[i], nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", name)
}

func (f *fakeTriton) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (f *fakeTriton) ModelReady(_ context.Context, r *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	m, err := f.model(r.Name)
	return &pb.ModelReadyResponse{Ready: err == nil && !m.notReady}, err
}

// shape adds the batch dimension that metadata has.
func (m *fakeModel) shape(s []int64) []int64 {
	if m.maxBatch > 0 {
		return append([]int64{-1}, s...)
	}
	return s
}

func (f *fakeTriton) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	m, err := f.model(r.Name)
	if err != nil {
		return nil, err
	}
	tensors := func(ts []tensorSpec) (out []*pb.ModelMetadataResponse_TensorMetadata) {
		for _, t := range ts {
			out = append(out, &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: string(t.Datatype), Shape: m.shape(t.Shape)})
		}
		return out
	}
	return &pb.ModelMetadataResponse{Name: m.name, Versions: []string{"1"}, Inputs: tensors(m.inputs), Outputs: tensors(m.outputs)}, nil
}

func (f *fakeTriton) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	m, err := f.model(r.Name)
	if err != nil {
		return nil, err
	}
	c := &pb.ModelConfig{Name: m.name, MaxBatchSize: m.maxBatch, ModelTransactionPolicy: &pb.ModelTransactionPolicy{Decoupled: m.decoupled}}
	for _, t := range m.inputs {
		c.Input = append(c.Input, &pb.ModelInput{Name: t.Name, Dims: t.Shape, Optional: t.Optional})
	}
	return &pb.ModelConfigResponse{Config: c}, nil
}

func (f *fakeTriton) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	r := &pb.RepositoryIndexResponse{}
	for _, m := range f.models {
		r.Models = append(r.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: m.name})
	}
	return r, nil
}

// note keeps what a request was, read by the generated code.
func (f *fakeTriton) note(ctx context.Context, r *pb.ModelInferRequest) *wire.Request {
	req := &wire.Request{Model: r.ModelName, Version: r.ModelVersion, ID: r.Id}
	for name, p := range r.Parameters {
		q := wire.Param{Name: name}
		switch v := p.ParameterChoice.(type) {
		case *pb.InferParameter_BoolParam:
			q.Value = v.BoolParam
		case *pb.InferParameter_Int64Param:
			q.Value = v.Int64Param
		case *pb.InferParameter_StringParam:
			q.Value = v.StringParam
		}
		req.Params = append(req.Params, q)
	}
	slices.SortFunc(req.Params, func(a, b wire.Param) int { return strings.Compare(a.Name, b.Name) })
	for i, in := range r.Inputs {
		req.Inputs = append(req.Inputs, wire.Tensor{Name: in.Name, Datatype: wire.Datatype(in.Datatype), Shape: in.Shape, Data: r.RawInputContents[i]})
	}
	md, _ := metadata.FromIncomingContext(ctx)
	f.remember(req, md)
	return req
}

func (f *fakeTriton) remember(req *wire.Request, md metadata.MD) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, req)
	f.meta = append(f.meta, md)
}

// metadata returns the metadata of the calls so far.
func (f *fakeTriton) metadata() []metadata.MD {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.meta)
}

func (f *fakeTriton) ModelStreamInfer(s pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		req := f.note(s.Context(), r)
		if err := f.answer(s.Context(), req, func(resp wire.Response) {
			_ = s.Send(streamMessage(&resp)) // the client may be gone
		}); err != nil {
			if errors.Is(err, errEnd) {
				return nil
			}
			return err
		}
	}
}

// errEnd makes an answer end the stream without an error.
var errEnd = errors.New("end of stream")

func (f *fakeTriton) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	req := f.note(ctx, r)
	var out *pb.ModelInferResponse
	err := f.answer(ctx, req, func(resp wire.Response) { out = streamMessage(&resp).InferResponse })
	return out, err
}

// streamMessage builds a message with the generated code. Error with no id
// leaves infer_response out, as early releases do.
func streamMessage(r *wire.Response) *pb.ModelStreamInferResponse {
	m := &pb.ModelStreamInferResponse{ErrorMessage: r.Error}
	if r.Error != "" && r.ID == "" {
		return m
	}
	i := &pb.ModelInferResponse{ModelName: "m", ModelVersion: "1", Id: r.ID}
	for _, p := range r.Params {
		if i.Parameters == nil {
			i.Parameters = map[string]*pb.InferParameter{}
		}
		i.Parameters[p.Name] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: p.Value.(bool)}}
	}
	for _, t := range r.Outputs {
		i.Outputs = append(i.Outputs, &pb.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: string(t.Datatype), Shape: t.Shape})
		i.RawOutputContents = append(i.RawOutputContents, t.Data)
	}
	m.InferResponse = i
	return m
}

// ServeHTTP is the HTTP side.
func (f *fakeTriton) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(text string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q}`, text)
	}
	path := strings.TrimPrefix(r.URL.Path, "/base")
	switch path {
	case "/v2/health/live":
		return
	case "/v2/repository/index":
		fmt.Fprint(w, `[{"name":"llm"},{"name":"adder"}]`)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "/v2/models/"), "/")
	m, err := f.model(parts[0])
	if err != nil {
		fail(status.Convert(err).Message())
		return
	}
	switch parts[len(parts)-1] {
	case "ready":
		if m.notReady {
			w.WriteHeader(http.StatusBadRequest)
		}
	case "config":
		var in []string
		for _, t := range m.inputs {
			in = append(in, fmt.Sprintf(`{"name":%q,"optional":%t}`, t.Name, t.Optional))
		}
		fmt.Fprintf(w, `{"max_batch_size":%d,"model_transaction_policy":{"decoupled":%t},"input":[%s]}`, m.maxBatch, m.decoupled, strings.Join(in, ","))
	case "infer":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		n, err := strconv.Atoi(r.Header.Get(wire.HeaderLength))
		req := &wire.Request{}
		if err == nil {
			err = req.ParseHTTP(body, n)
		}
		if err != nil {
			fail(err.Error())
			return
		}
		f.remember(req, metadata.MD{"authorization": r.Header.Values("Authorization")})
		var out []byte
		err = f.answer(r.Context(), req, func(resp wire.Response) {
			resp.Model = m.name
			var jsonBytes int
			for i := range resp.Outputs {
				resp.Outputs[i].Binary = true
			}
			out, jsonBytes = resp.AppendHTTP(nil)
			w.Header().Set(wire.HeaderLength, strconv.Itoa(jsonBytes))
		})
		if err != nil {
			fail(status.Convert(err).Message())
			return
		}
		_, _ = w.Write(out) // the client may be gone
	default:
		var ts [2][]string
		for i, specs := range [][]tensorSpec{m.inputs, m.outputs} {
			for _, t := range specs {
				ts[i] = append(ts[i], fmt.Sprintf(`{"name":%q,"datatype":%q,"shape":%s}`, t.Name, t.Datatype, wire.ShapeString(m.shape(t.Shape))))
			}
		}
		fmt.Fprintf(w, `{"name":%q,"versions":["1"],"inputs":[%s],"outputs":[%s]}`, m.name, strings.Join(ts[0], ","), strings.Join(ts[1], ","))
	}
}

// open returns a checked backend.
func (f *fakeTriton) open(t testing.TB, c Config) *Backend {
	t.Helper()
	if c.URL = f.httpAddr; c.Protocol == GRPC {
		c.URL = f.grpcAddr
	}
	c.TLS = f.tls
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func openSlot(t testing.TB, b *Backend, slot int) backend.Sender {
	t.Helper()
	s, err := b.Open(t.Context(), slot, rxclock.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// entry is one step of input data, alternately names and JSON values.
func entry(kv ...string) *workload.Entry {
	e := &workload.Entry{Stream: 0, Step: 3}
	for i := 0; i < len(kv); i += 2 {
		e.Values = append(e.Values, export.Field{Name: kv[i], Value: export.JSON(kv[i+1])})
	}
	return e
}

func prepare(t testing.TB, b *Backend, e *workload.Entry) backend.Payload {
	t.Helper()
	p, err := b.Prepare(e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exchange sends p as request id and decodes the answer.
func exchange(ctx context.Context, t testing.TB, b *Backend, s backend.Sender, p backend.Payload, id uint64) *backend.Exchange {
	t.Helper()
	x := &backend.Exchange{Request: export.Request{ID: id}}
	x.Pack() // as the recorder does
	s.Send(ctx, p, x)
	x.Unpack(&backend.Scratch{})
	if err := b.Decode(x); err != nil {
		t.Errorf("Decode: %v", err)
	}
	r := &x.Request
	if r.IssuedNS == 0 || r.StartNS != 0 && (r.StartNS < r.IssuedNS || r.SentNS != 0 && r.SentNS < r.StartNS) || r.Status == export.StatusOK && r.SentNS == 0 {
		t.Errorf("issued %d, start %d, sent %d are out of order", r.IssuedNS, r.StartNS, r.SentNS)
	}
	checkTimes(t, r)
	return x
}

// checkTimes checks the times of the responses of r as the sender has set them, then puts
// them in order as the recorder does and checks them again. Before that, a time may be
// later than the next only if it is the library's: the message lost its stamp and was
// taken from the library after the kernel had stamped the bytes of the next message.
func checkTimes(t testing.TB, r *export.Request) {
	t.Helper()
	for i, resp := range r.Responses {
		if resp.RecvNS < r.StartNS || !follows(r.Responses, i) || resp.Source == export.SourceUnknown {
			t.Errorf("response %d: %+v", i, resp)
		}
		if i == 0 {
			continue
		}
		if before := r.Responses[i-1]; resp.RecvNS < before.RecvNS && (before.Source != export.SourceUser || resp.Source == export.SourceUser) {
			t.Errorf("response %d: %+v is earlier than %+v", i, resp, before)
		}
	}
	backend.PutInOrder(r)
	for i, resp := range r.Responses {
		if resp.RecvNS < r.StartNS || i > 0 && resp.RecvNS < r.Responses[i-1].RecvNS || !follows(r.Responses, i) {
			t.Errorf("response %d, in order: %+v", i, resp)
		}
	}
}

// show is an exchange as one line: status, code, message, then each response
// with its first output; F final, E error.
func show(x *backend.Exchange) string {
	r := &x.Request
	s := r.Status.String()
	if r.Code != 0 {
		s += fmt.Sprintf(" %d", r.Code)
	}
	if r.Message != "" {
		s += fmt.Sprintf(" %q", r.Message)
	}
	for _, resp := range r.Responses {
		flags := ""
		if resp.Final {
			flags += "F"
		}
		if resp.Error {
			flags += "E"
		}
		s += fmt.Sprintf(" [%s%s]", resp.Outputs[0].Value.Data, flags)
	}
	return s
}

func text(id, s string, params ...wire.Param) wire.Response {
	return wire.Response{ID: id, Params: params, Outputs: []wire.Tensor{
		{Name: "text_output", Datatype: wire.BYTES, Shape: []int64{1}, Data: wire.AppendBytes(nil, s)},
	}}
}

var (
	final    = wire.Param{Name: wire.ParamFinal, Value: true}
	notFinal = wire.Param{Name: wire.ParamFinal, Value: false}
)

const longEnough = 30 * time.Second

// echo answers with the inputs as outputs.
func echo(_ context.Context, req *wire.Request, send func(wire.Response)) error {
	r := wire.Response{ID: req.ID}
	for _, in := range req.Inputs {
		in.Name = strings.Replace(in.Name, "IN_", "OUT_", 1)
		r.Outputs = append(r.Outputs, in)
	}
	send(r)
	return nil
}

// follows reports whether the read of response i is the read of the response
// before, with the same time, or the next.
func follows(all []export.Response, i int) bool {
	if i == 0 {
		return all[0].Read == 0
	}
	before, resp := all[i-1], all[i]
	return resp.Read == before.Read+1 || resp.Read == before.Read && resp.RecvNS == before.RecvNS && resp.Source == before.Source
}
