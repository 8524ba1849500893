package kserve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestRequestHTTP(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    Request
		body string
		tail int // bytes
	}{
		{
			"all text",
			Request{
				ID: "1", Params: []Param{{"b", true}, {"f", 1.5}, {"i", int64(-3)}, {"s", "x"}, {"u", uint64(1 << 63)}},
				Inputs: []Tensor{
					{Name: "A", Datatype: INT32, Shape: []int64{2}, Data: []byte("\x01\x00\x00\x00\x02\x00\x00\x00")},
					{Name: "B", Datatype: BYTES, Shape: []int64{1, 2}, Data: []byte("\x02\x00\x00\x00\"\n\x00\x00\x00\x00")},
				},
				Outputs: []RequestedOutput{{Name: "O"}},
			},
			`{"id":"1","parameters":{"b":true,"f":1.5,"i":-3,"s":"x","u":9223372036854775808},"inputs":[` +
				`{"name":"A","datatype":"INT32","shape":[2],"data":[1,2]},{"name":"B","datatype":"BYTES","shape":[1,2],"data":["\"\n",""]}],"outputs":[{"name":"O"}]}`,
			0,
		},
		{
			"binary tensors and text mixed",
			Request{Inputs: []Tensor{
				{Name: "A", Datatype: FP16, Shape: []int64{1}, Data: []byte("\x00\x3c"), Binary: true},
				{Name: "B", Datatype: UINT8, Shape: []int64{1}, Data: []byte{7}},
				{Name: "C", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x01\x00\x00\x00}"), Binary: true},
			}, Outputs: []RequestedOutput{{Name: "O", Binary: true}}},
			`{"inputs":[{"name":"A","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}},{"name":"B","datatype":"UINT8","shape":[1],"data":[7]},` +
				`{"name":"C","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}],"outputs":[{"name":"O","parameters":{"binary_data":true}}]}` +
				"\x00\x3c\x01\x00\x00\x00}",
			7,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, n := tt.r.AppendHTTP(nil)
			if got := len(body) - n; got != tt.tail {
				t.Errorf("%d bytes after the JSON, want %d", got, tt.tail)
			}
			if string(body) != tt.body {
				t.Errorf("AppendHTTP:\ngot  %s\nwant %s", body, tt.body)
			}
			for _, length := range []int{n, -1} {
				var got Request
				if err := got.ParseHTTP(body, length); err != nil {
					t.Fatalf("ParseHTTP(…, %d): %v", length, err)
				}
				if diff := cmp.Diff(tt.r, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("ParseHTTP(…, %d):\n%s", length, diff)
				}
			}
		})
	}
}

func TestResponseHTTP(t *testing.T) {
	r := Response{
		Model: "m", Version: "1", ID: "9", Params: []Param{{ParamFinal, true}},
		Outputs: []Tensor{
			{Name: "O", Datatype: FP32, Shape: []int64{1}, Data: []byte("\x00\x00\xc0\x3f")},
			{Name: "P", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x01\x00\x00\x00x"), Binary: true},
		},
	}
	body, n := r.AppendHTTP(nil)
	want := `{"id":"9","model_name":"m","model_version":"1","parameters":{"triton_final_response":true},"outputs":[` +
		`{"name":"O","datatype":"FP32","shape":[1],"data":[1.5]},{"name":"P","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}` + "\x01\x00\x00\x00x"
	if string(body) != want {
		t.Errorf("AppendHTTP:\ngot  %s\nwant %s", body, want)
	}
	got := Response{Error: "old", Outputs: make([]Tensor, 5)}
	if err := got.ParseHTTP(body, n); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("ParseHTTP:\n%s", diff)
	}

	body, _ = (&Response{Error: `no "such" model`}).AppendHTTP(nil)
	if want := `{"error":"no \"such\" model"}`; string(body) != want {
		t.Errorf("AppendHTTP: got %s, want %s", body, want)
	}
	if err := got.ParseHTTP(body, -1); err != nil || got.Error != `no "such" model` {
		t.Errorf("ParseHTTP: %q, %v", got.Error, err)
	}
}

// Nested data, a number where text belongs, members of no interest, a datatype
// after its data: what other servers write.
func TestResponseHTTPForeign(t *testing.T) {
	var r Response
	err := r.ParseHTTP([]byte(` {"model_version":1,"x":[{}],"parameters":{"a":null,"b":[1],"c":{}},
		"outputs":[{"data":[[1],[2]],"name":"O","shape":[2,1],"datatype":"INT8","parameters":{}}]} `), -1)
	if err != nil {
		t.Fatal(err)
	}
	want := Response{Version: "1", Outputs: []Tensor{{Name: "O", Datatype: INT8, Shape: []int64{2, 1}, Data: []byte{1, 2}}}}
	if diff := cmp.Diff(want, r, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestParseHTTPErrors(t *testing.T) {
	for _, tt := range []struct {
		body string
		json int
		want string
	}{
		{``, -1, `JSON, byte 0: expected an object, but it ends there`},
		{`<html>`, -1, `JSON, byte 0: expected an object, found "<html>"`},
		{`{}`, 3, `Inference-Header-Content-Length is 3 but the body has 2 bytes`},
		{`{}xx`, 2, `2 bytes after the last tensor`},
		{`{} x`, 4, `JSON, byte 3: expected the end, found "x"`},
		{
			`{"outputs":[{"name":"O","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}}]}x`, -1,
			`tensor "O": binary_data_size is 2 but 1 bytes are left`,
		},
		{
			`{"outputs":[{"name":"O","datatype":"INT8","shape":[1],"data":[1.5]}]}`, -1,
			`output "O": data: element 0: expected an integer for INT8, found 1.5`,
		},
		{`{"outputs":[{"name":"O","datatype":"INT8","data":1}]}`, -1, `output "O": data: expected an array`},
		{`{"parameters":{"a":bad}}`, -1, `parameter "a": "bad" is not a JSON value`},
	} {
		var r Response
		if err := r.ParseHTTP([]byte(tt.body), tt.json); err == nil || err.Error() != tt.want {
			t.Errorf("ParseHTTP(%s, %d):\ngot  %v\nwant %s", tt.body, tt.json, err, tt.want)
		}
	}
}

// Any body either is refused or reads again, from what it is written as, to
// the same tensors.
func FuzzParseHTTP(f *testing.F) {
	r := Response{ID: "1", Params: testParams, Outputs: []Tensor{
		{Name: "O", Datatype: FP32, Shape: []int64{1}, Data: []byte("\x00\x00\xc0\x3f")},
		{Name: "P", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x01\x00\x00\x00x"), Binary: true},
	}}
	body, n := r.AppendHTTP(nil)
	f.Add(body, n)
	f.Add(body, -1)
	f.Add([]byte(`{"error":"x"}`), -1)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		var r, again Response
		testenv.BoundMemory(t, len(body), 1<<20, 200, func() { _ = new(Response).ParseHTTP(body, n) })
		if r.ParseHTTP(body, n) != nil {
			return
		}
		for i := range r.Outputs {
			r.Outputs[i].Binary = true // text of NaN is a string
		}
		text, n := r.AppendHTTP(nil)
		if err := again.ParseHTTP(text, n); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if r.Error != "" {
			r = Response{Error: r.Error}
		}
		if again.Error != r.Error || len(again.Outputs) != len(r.Outputs) {
			t.Fatalf("%+v became %+v", r, again)
		}
		for i := range r.Outputs {
			if string(r.Outputs[i].Data) != string(again.Outputs[i].Data) {
				t.Fatalf("output %d: %+v became %+v", i, r.Outputs[i], again.Outputs[i])
			}
		}
	})
}
