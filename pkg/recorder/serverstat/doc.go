// Package serverstat asks a Triton server, at each edge of a load level, what it
// has counted of its models: ModelStatistics, of the model that requests go to and
// of those that it is made of.
//
//	s := serverstat.New(serverstat.Config{Asker: asker, Model: serverstat.ModelRef{Name: "m"}, Clock: clock})
//	defer s.Close()
//	cfg.ServerStats = s // of recorder.Config
//
// An edge is passed on to one goroutine that asks, so that the load does not
// wait. An answer that does not come in time is an error beside the snapshots.
package serverstat
