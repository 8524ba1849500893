// Package promtext reads the text format of Prometheus, as metrics endpoints of
// servers and of GPU exporters give it, line by line and in bounded memory.
//
//	bad, err := promtext.Read(body, promtext.Limits{}, func(s promtext.Sample) error {
//		name, labels, err := s.Labels() // of a head that was not met before
//		…
//	})
//
// It takes what servers write rather than what the format's grammar allows:
// OpenMetrics' exemplars, timestamps and "# EOF" are passed over, as are lines
// that make no sense, which are counted. A text without any sensible line, such as a
// page of HTML, is an error.
package promtext
