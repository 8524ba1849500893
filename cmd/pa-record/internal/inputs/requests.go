package inputs

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// WriteRequests writes the first n requests in their order as input data of
// perf_analyzer: {"data": [{…}, …]}. form is from [RequestForm].
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

// RequestForm returns the function that makes an element of input data from an entry. It
// asks no server, so the function fails for entries that depend on the model.
func RequestForm(s *settings.Settings) (func(*workload.Entry) (export.Fields, error), error) {
	var body func(*workload.Entry) (export.Fields, error)
	if s.ServiceKind == settings.OpenAI {
		url := s.RawURLs[0] // which is not asked
		if s.Simulated() {
			url = "localhost"
		}
		b, err := openai.New(s.OpenAIConfig(url))
		if err != nil {
			return nil, &cmdline.UsageError{Msg: err.Error()}
		}
		body = func(e *workload.Entry) (export.Fields, error) {
			p, err := b.Prepare(e)
			if err != nil {
				return nil, err
			}
			payload, _ := p.Inputs().Get("payload")
			return export.Fields{{Name: "payload", Value: export.JSON("[" + string(payload.Data) + "]")}}, nil
		}
	} else {
		body = func(e *workload.Entry) (export.Fields, error) {
			f, err := tensorForm(s, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Place(), err)
			}
			return f, nil
		}
	}
	return func(e *workload.Entry) (export.Fields, error) {
		f, err := body(e)
		return beside(f, e), err
	}, nil
}

// tensorForm returns the inputs of a Triton model, which is not asked.
func tensorForm(s *settings.Settings, e *workload.Entry) (export.Fields, error) {
	switch {
	case e.Fill.Kind != workload.FillNone:
		return nil, errors.New("what is made up depends on the model, which is not asked; give --input-data a file")
	case e.Raw != nil:
		return nil, errors.New("the files of a folder are tensors already; how many bytes an element has depends on the model, which is not asked")
	case e.Prompt == nil:
		return e.Values, nil
	case s.RenderStyle == 0 && s.Template == nil:
		return nil, errors.New("how the model takes prompts is told by its inputs, but no server is asked; say it with --backend")
	}
	o, model := s.RenderOptions(), cmp.Or(e.Model, s.Model)
	o.Stream, o.Model = s.Streaming, model
	f, err := render.Tensors(s.RenderStyle, e.Prompt, o)
	if model != "" && err == nil {
		f = append(export.Fields{{Name: "model", Value: export.Value{Data: quoted(model)}}}, f...)
	}
	return f, err
}

// beside adds the session, think time and schedule of an entry to the fields of its
// request, unless the fields have them already.
func beside(f export.Fields, e *workload.Entry) export.Fields {
	add := func(name string, value []byte) {
		if _, there := f.Get(name); !there {
			f = append(f, export.Field{Name: name, Value: export.Value{Data: append(append([]byte{'['}, value...), ']')}})
		}
	}
	if e.Session != "" {
		add("session_id", quoted(e.Session))
	}
	if e.Delay > 0 {
		add("delay", fmt.Appendf(nil, "%v", settings.Milliseconds(e.Delay)))
	}
	if e.Timed {
		add("timestamp", fmt.Appendf(nil, "%v", settings.Milliseconds(e.Offset)))
	}
	return f
}

// quoted returns s as a JSON string.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to marshal
	}
	return b
}
