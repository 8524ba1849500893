package dataset

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// WriteRequests writes the first n requests in their order as input data of
// perf_analyzer: {"data": [{…}, …]}. form returns the members of a request, with those
// that [Beside] adds.
func WriteRequests(ctx context.Context, out io.Writer, src workload.Source, order workload.Order, n int, form func(*workload.Entry) (export.Fields, error)) error {
	w := bufio.NewWriterSize(out, 64<<10)
	fmt.Fprint(w, `{"data": [`)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := src.At(order.Index(i, src.Len()))
		if err != nil {
			return err
		}
		f, err := form(&e)
		if err != nil {
			return err
		}
		sep := ",\n"
		if i == 0 {
			sep = "\n"
		}
		fmt.Fprint(w, sep)
		if err := writeMembers(w, f); err != nil {
			return err
		}
	}
	fmt.Fprint(w, "\n]}\n")
	return w.Flush() // what Fprint could not write shows here
}

// writeMembers writes the fields as a JSON object.
func writeMembers(w io.Writer, f export.Fields) error {
	sep := "{"
	for _, m := range f {
		name, err := json.Marshal(m.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s%s: %s", sep, name, m.Value.Data)
		sep = ", "
	}
	if sep == "{" {
		fmt.Fprint(w, "{")
	}
	_, err := fmt.Fprint(w, "}")
	return err
}

// Beside adds the session, think time and schedule of an entry to the fields of its
// request, unless the fields have them already.
func Beside(f export.Fields, e *workload.Entry) export.Fields {
	add := func(name string, value []byte) {
		if _, there := f.Get(name); !there {
			f = append(f, export.Field{Name: name, Value: export.Value{Data: append(append([]byte{'['}, value...), ']')}})
		}
	}
	if e.Session != "" {
		id, _ := json.Marshal(e.Session) // no string fails to marshal
		add("session_id", id)
	}
	if e.Delay > 0 {
		add("delay", fmt.Appendf(nil, "%v", float64(e.Delay)/float64(time.Millisecond)))
	}
	if e.Timed {
		add("timestamp", fmt.Appendf(nil, "%v", float64(e.Offset)/float64(time.Millisecond)))
	}
	return f
}
