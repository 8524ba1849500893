// Package promtext reads the text format of Prometheus, as metrics endpoints of
// servers and of GPU exporters give it, line by line and in bounded memory.
//
//	bad, err := promtext.Read(body, promtext.Limits{}, func(s promtext.Sample) error {
//		name, labels, err := s.Labels() // of a head that was not met before
//		…
//	})
//
// It reads the output of real servers, which is not always within the format's grammar.
// It skips OpenMetrics' exemplars, timestamps and "# EOF"; it skips and counts malformed
// lines. A text without any sensible line, such as a page of HTML, is an error.
package promtext
