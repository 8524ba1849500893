package backend

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestRequestHeaders(t *testing.T) {
	root := export.Request{ID: 3, SessionID: "s", Turn: 2}
	child := export.Request{ID: 4, SessionID: "s#2", Agent: "look", Depth: 1}
	grandchild := export.Request{ID: 5, SessionID: "s", Agent: "dig", ParentAgent: "look", Depth: 2, Turn: 7}
	hostile := export.Request{SessionID: "a b\r\nX: %é"}
	for _, tt := range []struct {
		name, value string
		of          export.Request
		want        string // "" if the header is not sent
	}{
		{"a root", "{{session}}", root, "s"},
		{"a root has no parent", "{{parent}}", root, ""},
		{"also beside other text", "{{session}} of {{parent}}", root, ""},
		{"the turn", "turn {{turn}}", root, "turn 2"},
		{"turn 0 is a value", "{{turn}}", child, "0"},
		{"a child of a repeated session", "{{session}}", child, "s#2/look"},
		{"its parent", "{{parent}}", child, "s#2"},
		{"a grandchild", "{{session}}<{{parent}}", grandchild, "s/dig<s/look"},
		{"no header can be broken", "{{session}}", hostile, "a%20b%0D%0AX:%20%25%C3%A9"},
		{"no session", "{{session}}", export.Request{}, ""},
		{"braces that are no place", "{{session}} {{", root, "s {{"},
	} {
		var h RequestHeaders
		if placed, err := h.Add("X-A", tt.value); err != nil || !placed {
			t.Fatalf("%s: Add = %v, %v", tt.name, placed, err)
		}
		x := &Exchange{Request: tt.of}
		got := ""
		for name, value := range h.All(x) {
			got += value
			if name != "X-A" {
				t.Errorf("%s: header %s", tt.name, name)
			}
		}
		if got != tt.want || x.Request.RequestID != "" {
			t.Errorf("%s: %q, id %q, want %q and none", tt.name, got, x.Request.RequestID, tt.want)
		}
	}
}

// {{request}} is one id for all headers of a request, in the form of a UUID, and becomes a column. The same seed and number give
// the same id.
func TestRequestIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for seed := range uint64(3) {
		for number := range uint64(2000) {
			h := RequestHeaders{Seed: seed}
			for _, value := range []string{"{{request}}", "00-{{request}}-01"} {
				if _, err := h.Add("X-"+fmt.Sprint(len(value)), value); err != nil {
					t.Fatal(err)
				}
			}
			var got [2][]string
			for i := range got {
				x := &Exchange{Request: export.Request{ID: number}}
				for _, value := range h.All(x) {
					got[i] = append(got[i], value)
				}
				got[i] = append(got[i], x.Request.RequestID)
			}
			id := got[0][2]
			if !slices.Equal(got[0], []string{id, "00-" + id + "-01", id}) || !slices.Equal(got[0], got[1]) || !form.MatchString(id) || seen[id] {
				t.Fatalf("request %d of seed %d: %q, then %q; seen before: %v", number, seed, got[0], got[1], seen[id])
			}
			seen[id] = true
		}
	}
}

func TestParsePlaces(t *testing.T) {
	for _, tt := range []struct {
		value, template string
		want            []Place
		err             string
	}{
		{"Bearer sk-1", "…", nil, ""},
		{"{{session}}", "{{session}}", []Place{PlaceSession}, ""},
		{"Bearer sk-1 {{session}}/{{turn}}!", "…{{session}}…{{turn}}…", []Place{PlaceSession, PlaceTurn}, ""},
		{"{{parent}}{{request}}", "{{parent}}{{request}}", []Place{PlaceParent, PlaceRequest}, ""},
		{"{{sesion}}", "{{sesion}}", nil, "{{sesion}} is not a placeholder; expected {{session}}, {{parent}}, {{turn}} or {{request}}"},
		{"{{}}", "{{}}", nil, "{{}} is not a placeholder"},
		{"{{ open", "…", nil, ""},
	} {
		got, err := ParsePlaces(tt.value)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, %v; want %v, %q", tt.value, got, err, tt.want, tt.err)
		}
		if got := HeaderTemplate(tt.value); got != tt.template {
			t.Errorf("template of %q: %q, want %q", tt.value, got, tt.template)
		}
	}
}

// An agent sends back what the latest answer to it said; other agents do not.
func TestReturned(t *testing.T) {
	h := RequestHeaders{Return: "X-Token"}
	answer := func(token string) func(string) string {
		return func(name string) string { return map[string]string{"X-Token": token}[name] }
	}
	var a, b Line
	sent := func(l *Line) (all string) {
		for name, value := range h.All(&Exchange{Line: l}) {
			all += name + ": " + value
		}
		return all
	}
	var got []string
	for _, token := range []string{"one", "", "two", "three\r\nX-Injected: 4", "five\x00"} { // "": the answer has no such header
		got = append(got, sent(&a))
		h.Returned(&Exchange{Line: &a}, answer(token))
	}
	h.Returned(&Exchange{}, answer("lost")) // of no session
	got = append(got, sent(&a), sent(&b), sent(nil))
	if want := []string{"", "X-Token: one", "X-Token: one", "X-Token: two", "X-Token: two", "X-Token: two", "", ""}; !slices.Equal(got, want) {
		t.Errorf("sent back %q, want %q", got, want)
	}
}
