package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
)

// A TraceChange is a change of trace settings by a client. The server traces nothing.
type TraceChange struct {
	Model string // "" for the whole server
	// Settings holds the values of each setting. No values reset it.
	Settings map[string][]string
}

// traces holds the changes so far.
type traces struct {
	mu  sync.Mutex
	all []TraceChange
}

// TraceChanges returns the changes of trace settings in order.
func (s *Server) TraceChanges() []TraceChange {
	s.traces.mu.Lock()
	defer s.traces.mu.Unlock()
	return slices.Clone(s.traces.all)
}

// TraceSetting records a change.
func (g *grpcServer) TraceSetting(_ context.Context, q *pb.TraceSettingRequest) (*pb.TraceSettingResponse, error) {
	c := TraceChange{Model: q.GetModelName(), Settings: map[string][]string{}}
	if c.Model != "" {
		if _, terr := g.s.model(c.Model, ""); terr != nil {
			return nil, status.Error(terr.code, terr.message)
		}
	}
	for name, v := range q.GetSettings() {
		c.Settings[name] = v.GetValue()
	}
	g.s.traces.mu.Lock()
	defer g.s.traces.mu.Unlock()
	g.s.traces.all = append(g.s.traces.all, c)
	return &pb.TraceSettingResponse{}, nil
}

// serveTraceSetting is TraceSetting over HTTP. A value is a text, a list of texts, or null.
func (g *grpcServer) serveTraceSetting(w http.ResponseWriter, r *http.Request) {
	var given map[string]json.RawMessage
	body, err := io.ReadAll(io.LimitReader(r.Body, g.s.config.MaxRequestBytes))
	if err == nil {
		err = json.Unmarshal(body, &given)
	}
	q := &pb.TraceSettingRequest{ModelName: r.PathValue("model"), Settings: map[string]*pb.TraceSettingRequest_SettingValue{}}
	for name, js := range given {
		var values []string
		var one *string
		switch {
		case json.Unmarshal(js, &one) == nil && one != nil:
			values = []string{*one}
		case json.Unmarshal(js, &values) != nil:
			err = fmt.Errorf("%q: expected a text, a list of texts, or null", clip(name))
		}
		q.Settings[name] = &pb.TraceSettingRequest_SettingValue{Value: values}
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, plainErrorBody(0, err.Error()))
		return
	}
	m, err := g.TraceSetting(r.Context(), q)
	writeProto(w, m, err)
}
