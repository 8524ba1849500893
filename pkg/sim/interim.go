package sim

import (
	"net"
	"net/http"
)

type modelStats struct{}
type connTable struct{}

func (s *Server) tritonHandler() http.Handler { return http.NotFoundHandler() }
func (s *Server) serveGRPC(l net.Listener)    { _ = l.Close() }
