// Package telemetry collects metrics of servers and GPUs during a run. At an interval and
// at the edges of a measurement it scrapes metrics endpoints and runs nvidia-smi. Samples
// have times on the clock of the run.
//
//	c, err := telemetry.New(telemetry.Config{URLs: urls, Interval: time.Second, Clock: clock})
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
// source grows. A failed scrape holds an error instead of samples.
//
// Package analyze interprets the values.
package telemetry
