// Package promtext reads the text format of Prometheus, which metrics endpoints of servers
// and GPU exporters use, line by line and in bounded memory.
//
//	bad, err := promtext.Read(body, promtext.Limits{}, func(s promtext.Sample) error {
//		name, labels, err := s.Labels() // once for each new s.Head
//		…
//	})
//
// It reads the output of real servers, which is not always within the format's grammar.
// It skips OpenMetrics' exemplars, timestamps and "# EOF"; it skips and counts malformed
// lines. A text with malformed lines and no sample, such as a page of HTML, is an error.
package promtext
