// Package telemetry collects metrics of servers and GPUs during a run. At an interval it
// scrapes metrics endpoints and nvidia-smi, and keeps their samples with times on the
// clock of the run.
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
// connection. Scrapes are bounded in time and size, and so are the samples that wait for
// Take; later ones are dropped. The interval of a failing source grows. A failed scrape
// holds an error instead of samples.
//
// Package analyze interprets the values.
package telemetry
