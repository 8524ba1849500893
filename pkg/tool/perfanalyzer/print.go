package perfanalyzer

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// absent is printed for an unknown number.
const absent = "n/a"

// A printer collects lines, so that a report is one write.
type printer struct{ b bytes.Buffer }

func (p *printer) linef(format string, args ...any) {
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) flush(w io.Writer) error {
	_, err := w.Write(p.b.Bytes())
	return err
}

// six formats with six significant digits, as a C++ stream does by default.
func six(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// rate formats requests or the like per second.
func (l *Level) rate(perSecond float64) string {
	if l.NoRate != "" {
		return absent
	}
	return six(perSecond)
}

// latency formats microseconds.
func (l *Level) latency(us uint64) string { return whole(us, l.NoLatency == "") }

// whole formats a number that may be unknown.
func whole(n uint64, known bool) string {
	if !known {
		return absent
	}
	return strconv.FormatUint(n, 10)
}
