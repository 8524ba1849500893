//go:build realservers

package realservers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape returns what kinds of members a profile_export.json has, one line per
// place: the keys of the fixed objects in their order, the names and kinds of
// tensors sorted (perf_analyzer writes them in the order of a hash map). Our
// additions, the members called "pa", are left out.
//
//	experiments[].requests[] {timestamp request_inputs response_timestamps response_outputs}
//	experiments[].requests[].timestamp integer
func shape(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	s := shaper{d: d, seen: map[string]bool{}}
	if err := s.value(""); err != nil {
		t.Fatalf("%s: byte %d: %v", path, d.InputOffset(), err)
	}
	return s.lines()
}

// compareShapes fails the test when two exports differ in shape.
func compareShapes(t *testing.T, ours, theirs string) {
	t.Helper()
	if diff := cmp.Diff(shape(t, theirs), shape(t, ours)); diff != "" {
		t.Errorf("the export's shape differs from perf_analyzer's (-perf_analyzer +pa-record):\n%s", diff)
	}
}

type shaper struct {
	d    *json.Decoder
	seen map[string]bool
}

func (s shaper) lines() []string {
	var all []string
	for line := range s.seen {
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

func (s shaper) value(place string) error {
	token, err := s.d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			for s.d.More() {
				if err := s.value(place + "[]"); err != nil {
					return err
				}
			}
			_, err := s.d.Token()
			return err
		}
		return s.object(place)
	case json.Number:
		kind := "integer"
		if strings.ContainsAny(v.String(), ".eE") {
			kind = "decimal"
		}
		s.seen[place+" "+kind] = true
	default:
		s.seen[fmt.Sprintf("%s %T", place, v)] = true
	}
	return nil
}

func (s shaper) object(place string) error {
	var keys []string
	for s.d.More() {
		token, err := s.d.Token()
		if err != nil {
			return err
		}
		key := token.(string)
		if key == "pa" {
			var skipped json.RawMessage
			if err := s.d.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		keys = append(keys, key)
		if err := s.value(place + "." + key); err != nil {
			return err
		}
	}
	if strings.HasSuffix(place, ".request_inputs") || strings.HasSuffix(place, ".response_outputs[]") {
		slices.Sort(keys)
	}
	s.seen[fmt.Sprintf("%s {%s}", place, strings.Join(keys, " "))] = true
	_, err := s.d.Token()
	return err
}
