// Package telemetry watches servers and GPUs while a run is on: it asks their
// metrics endpoints, and nvidia-smi, at an interval of its own, and keeps what
// they say as scrapes on the clock of the run.
//
//	c, err := telemetry.New(telemetry.Config{URLs: urls, Interval: time.Second, Clock: clock})
//	…
//	c.Start()
//	for … {
//		write(c.Take())
//	}
//	sources := c.Stop() // Take gives the rest then
//
// Nothing here can hold up the load: each source has a goroutine and a
// connection of its own, answers are bounded in time and size, what nobody takes
// is dropped beyond a bound, and a source that fails is asked more and more
// seldom. A failure is a scrape with an error.
//
// What the values mean is a question for package analyze.
package telemetry
