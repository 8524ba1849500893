//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// plainMode as the first argument makes the process a plain reader: the second argument is
// the way to read, the third one the file.
const plainMode = "plain"

// Ways to read a file.
const (
	unmarshal  = "unmarshal"   // encoding/json, into any
	readerOnly = "profilejson" // profilejson.Reader, every request
)

// pythonLoad is a plain reader in Python. Its argument is the file.
const pythonLoad = "import json, sys\nwith open(sys.argv[1], encoding='utf8') as f: json.load(f)"

// plainMain runs a plain reader.
func plainMain(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("plain: want a way to read and a file")
	}
	switch way, path := args[0], args[1]; way {
	case unmarshal:
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		return json.Unmarshal(data, &v)
	case readerOnly:
		return readRequests(ctx, path)
	default:
		return fmt.Errorf("plain: no way %q to read", way)
	}
}

func readRequests(ctx context.Context, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := profilejson.NewReader(ctx, path, f, info.Size(), export.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	requests := 0
	for r.Next() {
		requests++
	}
	if err := r.Err(); err != nil {
		return err
	}
	if requests == 0 {
		return fmt.Errorf("%s: no requests", path)
	}
	return nil
}
