// Package serverstat reads the ModelStatistics of a Triton server at each edge of a load
// level: the counters of the models that requests go to, and of the models of their
// ensembles.
//
//	s := serverstat.New(serverstat.Config{Client: client, Model: serverstat.ModelRef{Name: "m"}, Clock: clock})
//	defer s.Close()
//	cfg.ServerStats = s // of recorder.Config
//
// One goroutine queries the server, so that the load does not wait. A query without an
// answer in time adds an error to the snapshots.
package serverstat
