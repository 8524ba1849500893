package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
)

// textLines is a plain text file: a prompt on each line that is not blank.
type textLines struct{ *lines }

// isText reports whether a file is plain text: its name ends in .txt, its first bytes, head,
// do not start like JSON, and o does not select another layout than prompts. A prompt may look
// like CSV or Parquet, so isText does not check for them.
func isText(name string, head []byte, o *Options) bool {
	isJSON, _ := spool.BeginsJSON(head)
	return isTextName(name) && (o.Layout == "" || o.Layout == "prompts") && !isJSON
}

// isTextName reports whether the name of a file ends in .txt, before .gz or .zst.
func isTextName(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.EqualFold(filepath.Ext(name), ".txt")
}

// openText indexes the rows of src.
func openText(ctx context.Context, src *source) (rows, error) {
	l, err := openLines(ctx, src)
	if err != nil {
		return nil, err
	}
	if l.len() == 0 {
		return nil, fmt.Errorf("%s: has only blank lines; expected a prompt on each line", src.name)
	}
	return textLines{l}, nil
}

// row returns line i, without its end, as a prompt.
func (l textLines) row(i int) (*row, error) {
	text, err := l.src.read(l.at[i], l.at[i+1]) // with the blank lines after it
	if err != nil {
		return nil, err
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	if !utf8.Valid(text) {
		return nil, errors.New("is not UTF-8; save the file as UTF-8")
	}
	js, err := json.Marshal(string(text))
	if err != nil {
		return nil, err
	}
	return &row{fields: export.Fields{{Name: "prompt", Value: export.Value{Data: js}}}}, nil
}
