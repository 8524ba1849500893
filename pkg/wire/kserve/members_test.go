package kserve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// membersOf returns "name=value" of each member.
func membersOf(js string) (all []string, err error) {
	err = Members([]byte(js), func(name string, value []byte) error {
		all = append(all, name+"="+string(value))
		return nil
	})
	return all, err
}

func TestMembers(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"none", ` { } `, nil},
		{"order and repeats stay", `{"b":1,"a":[2],"b":null}`, []string{"b=1", "a=[2]", "b=null"}},
		{"white space goes but for strings", "{\"x\" : { \"a b\" :\t[ 1 ,\n\"c d\\\" \" ] } }", []string{`x={"a b":[1,"c d\" "]}`}},
		{"number text stays", `{"x":[1.50,1e9,-0]}`, []string{"x=[1.50,1e9,-0]"}},
		{"what perf_analyzer takes", "{\"x\":[NaN, -Infinity],\"y\":\"\xff\"}", []string{"x=[NaN,-Infinity]", "y=\"\xff\""}},
		{"escapes of names are read, of values kept", `{"\u0061\n":"\u0061"}`, []string{"a\n=\"\\u0061\""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := membersOf(tt.in)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("Members(%q): %v (-want +got):\n%s", tt.in, err, diff)
			}
		})
	}
	for _, tt := range []struct{ in, want string }{
		{``, "byte 0: expected an object, but it ends there"},
		{`[1]`, `byte 0: expected an object, found "[1]"`},
		{`{"a":1`, "byte 6: expected a comma or }, but it ends there"},
		{`{"a" 1}`, `byte 5: expected a colon, found "1}"`},
		{`{1:2}`, "expected a key"},
		{`{"a":1} x`, "expected the end"},
		{`{"a":` + strings.Repeat("[", 2000), "nested deeper than 512 levels"},
	} {
		if _, err := membersOf(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Members(%q) = %v, want an error with %q", tt.in, err, tt.want)
		}
	}
}

// Of valid JSON, Members gives what encoding/json does.
func FuzzMembers(f *testing.F) {
	f.Add(`{"b":1,"a":[2,{"c":"\" "}]}`)
	f.Add("{\"x\":\"\xff\", \"y\" : NaN}")
	f.Fuzz(func(t *testing.T, in string) {
		got := map[string]string{}
		err := Members([]byte(in), func(name string, value []byte) error {
			got[name] = string(value)
			return nil
		})
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(in), &want) != nil || want == nil {
			return
		}
		if err != nil {
			if !strings.Contains(err.Error(), "nested deeper") {
				t.Fatalf("Members(%q) = %v, but it is JSON", in, err)
			}
			return
		}
		for name, value := range got {
			if strings.ContainsRune(name, '\ufffd') || !strings.Contains(in, name) {
				continue // names that are not UTF-8, or were escaped, are spelled otherwise
			}
			var a, b any
			if json.Unmarshal([]byte(value), &a) != nil || json.Unmarshal(want[name], &b) != nil {
				t.Fatalf("Members(%q): %q is %q, want %q", in, name, value, want[name])
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Fatalf("Members(%q): %q (-want +got):\n%s", in, name, diff)
			}
		}
	})
}
