// Package observe reads what servers and GPUs say of themselves during a run.
//
// [Metrics] collects metrics: at an interval and at the edges of a measurement it scrapes metrics endpoints and
// runs nvidia-smi. Samples have times on the clock of the run.
//
//	c, err := observe.NewMetrics(observe.MetricsConfig{URLs: urls, Interval: time.Second, Clock: clock})
//	…
//	c.Start()
//	for … {
//		write(c.Take())
//	}
//	sources := c.Stop() // Take returns the rest afterwards
//
// The collection does not delay the load. Each source has its own goroutine and
// connection or process. Each scrape is bounded in time and size. The number of samples
// that wait for Take is bounded; a scrape beyond the bound is dropped. The interval of a failing
// source grows. A failed scrape holds an error instead of samples. Package analyze interprets the values.
//
// [ReadText] reads the text format of Prometheus, which metrics endpoints of servers and GPU exporters use, line by
// line and in bounded memory. It reads the output of real servers, which is not always within the format's grammar:
// it skips OpenMetrics' exemplars, timestamps and "# EOF"; it skips and counts malformed lines. A text
// with malformed lines and no sample, such as a page of HTML, is an error.
//
// [Statistics] reads the ModelStatistics of a Triton server at each edge of a load level: the counters of the models
// that requests go to, and of the models of their ensembles.
//
//	s := observe.NewStatistics(observe.StatisticsConfig{Client: client, Model: observe.ModelRef{Name: "m"}, Clock: clock})
//	defer s.Close()
//	cfg.ServerStats = s // of recorder.Config
//
// One goroutine queries the server, so that the load does not wait. A query without an
// answer in time adds an error to the snapshots.
package observe
