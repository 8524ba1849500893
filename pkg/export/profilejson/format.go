package profilejson

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// Format is profile_export.json as a format of [export.Opener].
type Format struct{}

var _ export.Format = Format{}

// Name returns "profile_export.json".
func (Format) Name() string { return "profile_export.json" }

// Open is NewReader.
func (Format) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	r, err := NewReader(ctx, name, src, size, lim)
	if err != nil {
		return nil, err // not a nil *Reader in a non-nil interface
	}
	return r, nil
}

// Sniff reports whether head starts a JSON object with a member "experiments", or could
// be the start of a profile_export.json as far as it goes.
func (Format) Sniff(head []byte) bool {
	b := bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	i := jsonscan.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	var names jsonscan.Arena
	names.Reset(len(b))
	i++
	ours := 0
	for first := true; ; first = false {
		name, next, more, err := names.Key(b, i, first)
		if string(name) == "experiments" {
			return true
		}
		if err != nil {
			return errors.Is(err, jsonscan.ErrMore) && ours > 0
		}
		if !more {
			return false
		}
		switch string(name) {
		case "version", "service_kind", "endpoint", "pa":
			ours++
		default:
			ours = -1 << 30
		}
		if i, _, err = jsonscan.Value(b, next); err != nil {
			return errors.Is(err, jsonscan.ErrMore) && ours > 0
		}
	}
}
