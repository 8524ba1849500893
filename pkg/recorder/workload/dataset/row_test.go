package dataset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// rowTexts are texts of rows, and texts that are none.
var rowTexts = []string{
	`{}`, ` { } `, `{"a": 1}`, `{"a":[1, 2,  3],"b":{"c": "d e"}}`, `{"a":1,"a":2}`, `{"a":-0.5e+7,"b":[],"c":null,"d":true}`,
	"{\"a\t\":1}", `{"a\u0041":"\ud800"}`, "{\"\xff\":\"\xff\"}", "{\"a\":\"\xff \\\" x\"}", `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":[1,]}`, `{"a":NaN}`, `{"a" 1}`,
	`{"a":1}{}`, `{"a":1} x`, `[1]`, `1`, ``, `{`, `{"a":`, `{"a":1`, `{"a":12`, `{"a":[` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `]}`,
}

// FuzzObject checks that the quick way to read a row gives what the careful one does.
func FuzzObject(f *testing.F) {
	for _, text := range rowTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		quick := plainObject(text)
		if quick == nil {
			return
		}
		careful, err := carefulObject(text)
		if err != nil || !reflect.DeepEqual(quick, careful) {
			t.Errorf("%q: %+v, want %+v, %v", text, quick, careful, err)
		}
		for _, m := range quick.fields {
			if all, ok := parseElements(m.Value.Data); ok {
				if joined := slices.Concat([]byte("["), join(all), []byte("]")); string(joined) != string(m.Value.Data) {
					t.Errorf("elements of %s: %s", m.Value.Data, joined)
				}
			}
		}
	})
}

func join[T ~[]byte](all []T) (text []byte) {
	for i, e := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, e...)
	}
	return text
}

// The quick way reads usual rows, also deep ones that it leaves to the other way.
func TestObjectsAreQuick(t *testing.T) {
	for _, text := range rowTexts[:6] {
		if plainObject([]byte(text)) == nil {
			t.Errorf("%s is read by the careful way", text)
		}
	}
	deep := `[` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `,2]`
	if all, ok := parseElements([]byte(deep)); !ok || len(all) != 2 {
		t.Errorf("a deep array: %d elements, %v", len(all), ok)
	}
	for _, text := range []string{``, `{}`, `"[1]"`, `null`, `[1`} {
		if _, ok := parseElements([]byte(text)); ok {
			t.Errorf("%s passes for an array", text)
		}
	}
}

func TestParseIDs(t *testing.T) {
	for _, tt := range []struct {
		js   string
		want []int64
		ok   bool
	}{
		{`[]`, nil, true},
		{`[0]`, []int64{0}, true},
		{`[0,1,-2,3]`, []int64{0, 1, -2, 3}, true},
		{`[123456789012345678,999999999999999999,9223372036854775807,18446744073709551615,7]`, []int64{123456789012345678, 999999999999999999, 9223372036854775807, -1, 7}, true},
		{`[18446744073709551616]`, nil, false},
		{`[1,2.0]`, nil, false},
		{`[1,"2"]`, nil, false},
		{`[1,2e3]`, nil, false},
		{`[1,[2]]`, nil, false},
		{`7`, nil, false},
	} {
		if got, ok := parseIDs([]byte(tt.js)); ok != tt.ok || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v, %v", tt.js, got, ok, tt.want, tt.ok)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var want []int64
		for range r.IntN(20) {
			want = append(want, r.Int64()>>r.IntN(63))
		}
		js := "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(want), "[]"), " ", ",") + "]"
		if got, ok := parseIDs([]byte(js)); !ok || !slices.Equal(got, want) || !jsontext.Value(js).IsValid() {
			t.Errorf("%s: %v, %v", js, got, ok)
		}
	}
}
