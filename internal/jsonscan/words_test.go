package jsonscan

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestInWords(t *testing.T) {
	type Embedded struct {
		Late int `json:"late"`
		Role string
	}
	var v struct {
		Embedded
		Count int      `json:"count"`
		Size  uint8    `json:"size"`
		Share float64  `json:"share"`
		Names []string `json:"names"`
		On    *bool    `json:"on"`
		In    struct {
			Map map[string]string `json:"map"`
		} `json:"in"`
	}
	for js, want := range map[string]string{
		`{"count":"x"}`:          "count: expected a whole number, found string",
		`{"count":5.5}`:          "count: expected a whole number, found number 5.5",
		`{"size":-1}`:            "size: expected a whole number from 0, found number -1",
		`{"share":true}`:         "share: expected a number, found bool",
		`{"names":{}}`:           "names: expected an array, found object",
		`{"names":[7]}`:          "names: expected a string, found number",
		`{"on":1}`:               "on: expected true or false, found number",
		`{"in":{"map":[]}}`:      "in.map: expected an object, found array",
		`{"in":{"map":{"a":1}}}`: "in.map: expected a string, found number",
		`{"late":""}`:            "late: expected a whole number, found string",
		`{"role":7}`:             "role: expected a string, found number",
		`7`:                      "expected an object, found number",
	} {
		if err := json.Unmarshal([]byte(js), &v); err == nil || InWords(err).Error() != want {
			t.Errorf("%s: %v, in words %v; want %s", js, err, InWords(err), want)
		}
	}
	if err := errors.New("other"); !errors.Is(InWords(err), err) {
		t.Error("another error is changed")
	}
}
