package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/nettest"
)

// startEarly serves HTTP/1.1, or HTTP/2 without asking, over TLS if cfg is not nil,
// until the test ends. The server answers a request as soon as the head of the request has
// arrived, and reads the rest afterwards. It speaks OpenAI's and Triton's protocols, as far as
// pa-record asks for them. The head of an HTTP request is its header; the head of a
// request on a gRPC stream is the first byte of its message.
func startEarly(t testing.TB, http2 bool, cfg *tls.Config) (addr string) {
	t.Helper()
	l := nettest.Listen(t)
	addr = l.Addr().String()
	if cfg != nil {
		l = tls.NewListener(l, cfg)
	}
	serve := serveEarly1
	if http2 {
		serve = func(nc net.Conn) { serve2(nc, &early2{}) }
	}
	nettest.Serve(t, l, serve)
	return addr
}

const earlyEvents = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"content":" b"}}]}` + "\n\n" + "data: [DONE]\n\n"

// earlyGets are the answers to what pa-record asks before the load.
var earlyGets = map[string]string{
	"/v1/models":             `{"data":[{"id":"early"}]}`,
	"/v2/models/early":       `{"name":"early","versions":["1"],"inputs":[{"name":"IN","datatype":"BYTES","shape":[1]}],"outputs":[{"name":"OUT","datatype":"INT32","shape":[1]}]}`,
	"/v2/models/early/ready": `{"ready":true}`,
	"/v2/models/early/config": `{"name":"early","input":[{"name":"IN","data_type":"TYPE_STRING","dims":[1]}],` +
		`"output":[{"name":"OUT","data_type":"TYPE_INT32","dims":[1]}]}`,
	"/v2/health/live":  "",
	"/v2/health/ready": "",
}

const earlyInference = `{"model_name":"early","outputs":[{"name":"OUT","datatype":"INT32","shape":[1],"data":[7]}]}`

// serveEarly1 speaks HTTP/1.1.
func serveEarly1(nc net.Conn) {
	r := bufio.NewReaderSize(nc, 64<<10)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		code, kind, body := 200, "application/json", earlyGets[req.URL.Path]
		switch {
		case req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/infer"):
			body = earlyInference
		case req.Method == http.MethodPost:
			kind, body = "text/event-stream", earlyEvents
		case body == "" && !strings.HasPrefix(req.URL.Path, "/v2/health/"):
			code, body = 404, `{"error":"no such page"}`
		}
		_, err = fmt.Fprintf(nc, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", code, kind, len(body), body)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
	}
}

// An earlyStream is a stream of HTTP/2 that is not over.
type earlyStream struct {
	path     string
	message  []byte // a gRPC message that is answered when it is whole
	left     int    // bytes to come of a message that was answered before
	answered bool
	headed   bool // a fault's server has sent the headers of the answer
}

// isLoad reports whether the stream carries requests of the load.
func (s *earlyStream) isLoad() bool {
	return strings.HasSuffix(s.path, "Infer") || strings.HasPrefix(s.path, "/v1/") && !strings.HasSuffix(s.path, "/models")
}

// early2 is a connection of HTTP/2.
type early2 struct {
	// load answers a request of the load when it is whole; nil: requests are answered at
	// their heads. Its error ends the connection.
	load      func(id uint32, s *earlyStream) error
	decoupled bool // the model may answer a request any number of times

	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
	streams map[uint32]*earlyStream
}

// serve2 speaks HTTP/2 on a connection.
func serve2(nc net.Conn, c *early2) {
	r := bufio.NewReaderSize(nc, 64<<10)
	if _, err := io.CopyN(io.Discard, r, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	c.framer, c.streams = http2.NewFramer(nc, r), map[uint32]*earlyStream{}
	c.encoder = hpack.NewEncoder(&c.block)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	const window = 1 << 24
	if c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}) != nil || c.framer.WriteWindowUpdate(0, window) != nil {
		return
	}
	for c.next() == nil {
	}
}

// next reads a frame and answers it.
func (c *early2) next() error {
	f, err := c.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return c.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.framer.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame:
		delete(c.streams, f.StreamID)
	case *http2.MetaHeadersFrame:
		s := &earlyStream{path: f.PseudoValue("path")}
		c.streams[f.StreamID] = s
		return c.opened(f.StreamID, s, f.PseudoValue("method"))
	case *http2.DataFrame:
		if f.Length > 0 {
			if err := c.framer.WriteWindowUpdate(0, f.Length); err != nil {
				return err
			}
		}
		s := c.streams[f.StreamID]
		if s == nil {
			return nil
		}
		if f.StreamEnded() {
			delete(c.streams, f.StreamID)
		} else if f.Length > 0 {
			if err := c.framer.WriteWindowUpdate(f.StreamID, f.Length); err != nil {
				return err
			}
		}
		return c.data(f.StreamID, s, f.Data(), f.StreamEnded())
	}
	return nil
}

// opened answers what can be answered at the headers.
func (c *early2) opened(id uint32, s *earlyStream, method string) error {
	switch {
	case c.load != nil && s.isLoad():
	case strings.HasSuffix(s.path, "/ModelInfer"):
		s.answered = true
		return c.reply(id, &pb.ModelInferResponse{ModelName: "early"})
	case strings.HasSuffix(s.path, "/ModelStreamInfer"):
		return c.headers(id, false, ":status", "200", "content-type", "application/grpc")
	case method == http.MethodGet:
		delete(c.streams, id)
		return c.page(id, "application/json", earlyGets[s.path])
	case strings.HasPrefix(s.path, "/v1/"):
		s.answered = true
		return c.page(id, "text/event-stream", earlyEvents)
	}
	return nil
}

// data answers a message, on a ModelStreamInfer at its first byte.
func (c *early2) data(id uint32, s *earlyStream, p []byte, ended bool) error {
	const prefix = 5
	stream := strings.HasSuffix(s.path, "/ModelStreamInfer")
	if c.load != nil && strings.HasPrefix(s.path, "/v1/") {
		if ended {
			return c.load(id, s)
		}
		return nil
	}
	for !s.answered && len(p) > 0 {
		if n := min(s.left, len(p)); n > 0 {
			s.left -= n
			p = p[n:]
			continue
		}
		if stream && len(s.message) == 0 && c.load == nil {
			r := &pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{ModelName: "early"}}
			if err := c.framer.WriteData(id, false, message(r)); err != nil {
				return err
			}
		}
		n := min(prefix-min(prefix, len(s.message)), len(p))
		s.message = append(s.message, p[:n]...)
		p = p[n:]
		if len(s.message) < prefix {
			return nil
		}
		size := int(binary.BigEndian.Uint32(s.message[1:]))
		if stream && c.load == nil {
			s.message, s.left = s.message[:0], size
			continue
		}
		n = min(prefix+size-len(s.message), len(p))
		s.message = append(s.message, p[:n]...)
		p = p[n:]
		if len(s.message) < prefix+size {
			return nil
		}
		if c.load != nil && s.isLoad() {
			s.message = s.message[:0]
			if err := c.load(id, s); err != nil {
				return err
			}
			continue
		}
		s.answered = true
		return c.control(id, s.path)
	}
	return nil
}

// control answers a question about the server or the model.
func (c *early2) control(id uint32, path string) error {
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "ServerLive":
		return c.reply(id, &pb.ServerLiveResponse{Live: true})
	case "ServerReady":
		return c.reply(id, &pb.ServerReadyResponse{Ready: true})
	case "ModelReady":
		return c.reply(id, &pb.ModelReadyResponse{Ready: true})
	case "ModelMetadata":
		return c.reply(id, &pb.ModelMetadataResponse{
			Name: "early", Versions: []string{"1"},
			Inputs:  []*pb.ModelMetadataResponse_TensorMetadata{{Name: "IN", Datatype: "BYTES", Shape: []int64{1}}},
			Outputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "OUT", Datatype: "INT32", Shape: []int64{1}}},
		})
	case "ModelConfig":
		return c.reply(id, &pb.ModelConfigResponse{Config: &pb.ModelConfig{Name: "early", ModelTransactionPolicy: &pb.ModelTransactionPolicy{Decoupled: c.decoupled}, Input: []*pb.ModelInput{{Name: "IN", Dims: []int64{1}}}}})
	}
	return c.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12")
}

// message returns m with the prefix of gRPC.
func message(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return slices.Concat(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b)
}

// reply answers a unary call.
func (c *early2) reply(id uint32, m proto.Message) error {
	if err := c.headers(id, false, ":status", "200", "content-type", "application/grpc"); err != nil {
		return err
	}
	if err := c.framer.WriteData(id, false, message(m)); err != nil {
		return err
	}
	return c.headers(id, true, "grpc-status", "0")
}

// page answers a request that is no gRPC.
func (c *early2) page(id uint32, kind, body string) error {
	if err := c.headers(id, false, ":status", "200", "content-type", kind); err != nil {
		return err
	}
	return c.framer.WriteData(id, true, []byte(body))
}

func (c *early2) headers(id uint32, last bool, fields ...string) error {
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		if err := c.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: last})
}
