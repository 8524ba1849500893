package grpcconn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() uint64 { return uint64(time.Now().UnixNano()) }

// A server answers each request with as many responses as its model version
// says, of the size that its id says, each with the time before it was sent.
type server struct {
	kserve.UnimplementedGRPCInferenceServiceServer
	t *testing.T
}

func response(req *kserve.ModelInferRequest) *kserve.ModelInferResponse {
	size, _ := strconv.Atoi(req.Id)
	return &kserve.ModelInferResponse{
		Id: strconv.FormatUint(now(), 10), RawOutputContents: [][]byte{make([]byte, size)},
	}
}

func (s *server) ModelInfer(_ context.Context, req *kserve.ModelInferRequest) (*kserve.ModelInferResponse, error) {
	return response(req), nil
}

func (s *server) ModelStreamInfer(stream kserve.GRPCInferenceService_ModelStreamInferServer) error {
	f, ok := FromContext(stream.Context())
	if !ok {
		return errors.New("no Follower at the server")
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	var id uint32
	k := 0
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if id == 0 {
			if id, ok = f.Stream(strings.Join(md.Get("pa-stream"), "")); !ok {
				return errors.New("the stream has no name at the server")
			}
		}
		if st, ok := f.Message(id, k); !ok || st.NS > now() {
			s.t.Errorf("server: request %d of stream %d: %+v, %v", k, id, st, ok)
		}
		k++
		n, _ := strconv.Atoi(req.ModelVersion)
		for range n {
			if err := stream.Send(&kserve.ModelStreamInferResponse{InferResponse: response(req)}); err != nil {
				return err
			}
		}
	}
}

// serve starts a server, and returns how to connect to it. Both ends are
// followed.
func serve(t *testing.T, secure bool) *grpc.ClientConn {
	t.Helper()
	clientCreds, serverCreds := insecure.NewCredentials(), insecure.NewCredentials()
	if secure {
		h := httptest.NewUnstartedServer(nil)
		h.StartTLS() // for its certificate
		h.Close()
		serverCreds = credentials.NewTLS(&tls.Config{Certificates: h.TLS.Certificates})
		clientCreds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	config := h2follow.Config{Header: "pa-stream"}
	ln := nettest.Listen(t)
	srv := grpc.NewServer(grpc.Creds(Credentials(serverCreds, config)))
	kserve.RegisterGRPCInferenceServiceServer(srv, &server{t: t})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(ln); err != nil {
			t.Error(err)
		}
	})
	d := sockstamp.Dialer{}
	cc, err := grpc.NewClient("passthrough:///"+ln.Addr().String(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }),
		grpc.WithTransportCredentials(Credentials(clientCreds, config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cc.Close(); err != nil {
			t.Error(err)
		}
		srv.Stop()
		wg.Wait()
	})
	return cc
}

func eachSecurity(t *testing.T, do func(t *testing.T, cc *grpc.ClientConn)) {
	for _, secure := range []bool{false, true} {
		t.Run("secure="+strconv.FormatBool(secure), func(t *testing.T) {
			do(t, serve(t, secure))
		})
	}
}

// checkResponse checks the stamp of a response against the time in it.
func checkResponse(t *testing.T, f *h2follow.Follower, id uint32, k int, r *kserve.ModelInferResponse) sockstamp.Stamp {
	t.Helper()
	read := now()
	sent, err := strconv.ParseUint(r.Id, 10, 64)
	st, ok := f.Message(id, k)
	if err != nil || !ok || st.NS < sent || st.NS > read {
		t.Errorf("stream %d, response %d: %+v, %v; sent at %d, read at %d; %v, %v", id, k, st, ok, sent, read, f.Err(), err)
	}
	return st
}

// Streams that share a connection: each response has a stamp between the time
// it was sent and the time it was read, each request one between the time it
// was sent and its first response.
func TestStreams(t *testing.T) {
	defer sockstamp.Hold()()
	streams, requests := 20/testenv.Stride(2), 10/testenv.Stride(2)
	eachSecurity(t, func(t *testing.T, cc *grpc.ClientConn) {
		client := kserve.NewGRPCInferenceServiceClient(cc)
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				name := "stream-" + strconv.Itoa(i)
				ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "pa-stream", name))
				defer cancel()
				stream, err := client.ModelStreamInfer(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				var f *h2follow.Follower
				var id uint32
				k := 0
				for q := range requests {
					size, responses := []int{0, 10, 3000, 100_000}[(i+q)%4], 1+(i*q)%5
					before := now()
					if err := stream.Send(&kserve.ModelInferRequest{
						Id: strconv.Itoa(size), ModelVersion: strconv.Itoa(responses), RawInputContents: [][]byte{make([]byte, size)},
					}); err != nil {
						t.Error(err)
						return
					}
					for j := range responses {
						r, err := stream.Recv()
						if err != nil {
							t.Error(err)
							return
						}
						if f == nil {
							var okF, okS bool
							f, okF = FromContext(stream.Context())
							if !okF {
								t.Error("no Follower at the client")
								return
							}
							if id, okS = f.Stream(name); !okS {
								t.Errorf("no stream %q: %v", name, f.Err())
								return
							}
						}
						st := checkResponse(t, f, id, k, r.InferResponse)
						k++
						if j > 0 {
							continue
						}
						start, sent, ok := f.Sent(id, q)
						if !ok || start.NS < before || sent.NS < start.NS || sent.Source == sockstamp.Kernel && sent.NS > st.NS {
							t.Errorf("stream %d, request %d: %+v, %+v, %v; sent from %d, answered at %d", id, q, start, sent, ok, before, st.NS)
						}
					}
				}
				if err := stream.CloseSend(); err != nil {
					t.Error(err)
				}
				if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				f.Forget(id)
				if err := f.Err(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// One request at a time on a connection: the newest stream is the one meant,
// and all stamps are the kernel's.
func TestUnary(t *testing.T) {
	defer sockstamp.Hold()()
	eachSecurity(t, func(t *testing.T, conn *grpc.ClientConn) {
		kernel := nettest.KernelStamps(t)
		var previous uint32
		for q := range 30 {
			size := []int{0, 5000, 200}[q%3]
			cc, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, kserve.GRPCInferenceService_ModelInfer_FullMethodName)
			if err != nil {
				t.Fatal(err)
			}
			req := &kserve.ModelInferRequest{Id: strconv.Itoa(size), RawInputContents: [][]byte{make([]byte, size)}}
			if err := cc.SendMsg(req); err != nil {
				t.Fatal(err)
			}
			r := new(kserve.ModelInferResponse)
			if err := cc.RecvMsg(r); err != nil {
				t.Fatal(err)
			}
			f, ok := FromContext(cc.Context())
			if !ok {
				t.Fatal("no Follower")
			}
			id := f.Newest()
			if id <= previous {
				t.Errorf("stream %d after %d", id, previous)
			}
			previous = id
			st := checkResponse(t, f, id, 0, r)
			start, sent, ok := f.Sent(id, 0)
			if !ok || kernel && (st.Source != sockstamp.Kernel || start.Source != sockstamp.Kernel || sent.Source != sockstamp.Kernel) {
				t.Errorf("request %d: %+v, %+v, %+v, %v", q, start, sent, st, ok)
			}
			if err := cc.RecvMsg(r); !errors.Is(err, io.EOF) {
				t.Errorf("after the response: %v", err)
			}
			f.Forget(id)
		}
	})
}

// A connection that fails to become secure says so, as without a Follower.
func TestHandshakeError(t *testing.T) {
	c1, c2 := net.Pipe()
	c2.Close()
	defer c1.Close()
	creds := Credentials(credentials.NewTLS(&tls.Config{ServerName: "x"}), h2follow.Config{})
	if nc, _, err := creds.Clone().ClientHandshake(t.Context(), "x", c1); err == nil {
		t.Errorf("ClientHandshake = %v, no error", nc)
	}
	if p := creds.Info().SecurityProtocol; p != "tls" {
		t.Errorf("SecurityProtocol = %q, want tls", p)
	}
	if _, ok := FromContext(t.Context()); ok {
		t.Error("a context without a connection has a Follower")
	}
}
