package backend_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// lines is a backend for servers that get one line and answer with one.
type lines struct {
	addr  string
	clock *rxclock.Clock
}

func (b lines) Check(context.Context) error {
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (b lines) Model() string { return "lines" }

func (b lines) Prepare(e *workload.Entry) (backend.Payload, error) {
	return line(string(e.Values[0].Value.Data) + "\n"), nil
}

func (b lines) Open(context.Context, int, *rxclock.Clock) (backend.Sender, error) {
	conn, err := net.Dial("tcp", b.addr)
	return &lineSender{conn, bufio.NewReader(conn), b.clock}, err
}

func (b lines) Decode(x *backend.Exchange) error {
	for i := range x.Request.Responses {
		x.Request.Responses[i].Outputs = export.Fields{{Name: "text", Value: export.Text(string(x.Raw[i]))}}
		x.Tokens.Add(i)
	}
	return nil
}

func (b lines) Close() error { return nil }

type line string

func (l line) Inputs() export.Fields {
	return export.Fields{{Name: "text", Value: export.Text(string(l))}}
}

type lineSender struct {
	net.Conn
	r     *bufio.Reader
	clock *rxclock.Clock
}

func (s *lineSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	x.Request.IssuedNS, x.Request.StartNS = s.clock.NowNS(), s.clock.NowNS()
	_, _ = io.WriteString(s.Conn, string(p.(line))) // a failed write fails the read, too
	raw, err := s.r.ReadBytes('\n')
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		x.Request.Status = export.StatusTimeout
	case ctx.Err() != nil:
		x.Request.Status = export.StatusCancelled
	case err != nil:
		x.Request.Status, x.Request.Message = export.StatusConnectError, err.Error()
	default:
		x.Request.Status = export.StatusOK
		x.RespondOwned(export.Response{RecvNS: s.clock.NowNS(), Source: export.SourceUser}, raw)
	}
}

// Example shows the least that a backend of your own does: it speaks to a server that
// gets a line and answers with one.
func Example() {
	addr, stop := echo()
	defer stop()
	b := lines{addr, rxclock.New()}
	res, err := recorder.Run(context.Background(), recorder.Config{
		Backend: b, Entries: workload.List{{Values: export.Fields{{Name: "text", Value: export.Text("hello")}}}}, Measure: window.Measure{Requests: 5}, Clock: b.clock,
		Writer: profilejson.NewWriter(io.Discard), Run: export.Run{Meta: &export.RunMeta{}},
	})
	fmt.Println(res.Levels[0].OK, "requests,", err)
	// Output: 5 requests, <nil>
}
