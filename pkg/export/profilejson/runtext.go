package profilejson

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// RunText returns the header of run as the text of a profile_export.json without requests, so
// that formats that keep a header need no other text for it. run may be nil.
func RunText(run *export.Run) ([]byte, error) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if run == nil {
		run = &export.Run{}
	}
	for i := range run.Experiments {
		e := &run.Experiments[i]
		if err := errors.Join(w.BeginExperiment(e.Mode, e.Value), w.EndExperiment(e)); err != nil {
			return nil, errors.Join(err, w.Close(nil))
		}
	}
	if err := w.Close(run); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ParseRun is the inverse of RunText. name is the place of the text, for messages.
func ParseRun(name string, text []byte, lim export.Limits) (*export.Run, []export.Warning, error) {
	r, err := NewReader(context.Background(), name, bytes.NewReader(text), int64(len(text)), lim)
	if err != nil {
		return nil, nil, err
	}
	if r.Next() {
		return nil, nil, fmt.Errorf("%s: holds requests", name)
	}
	if err := errors.Join(r.Err(), r.Close()); err != nil {
		return nil, nil, err
	}
	return r.Run(), r.Warnings(), nil
}
