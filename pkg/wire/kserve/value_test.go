package kserve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
)

func TestValue(t *testing.T) {
	for _, tt := range []struct {
		name string
		dt   Datatype
		raw  string
		want export.Value
	}{
		{"nothing is the empty string", INT32, "", export.Text("")},
		{"nothing, FP16", FP16, "", export.Text("")},
		{"string", BYTES, "\x02\x00\x00\x00ab", export.Text("ab")},
		{"empty string", BYTES, "\x00\x00\x00\x00", export.Text("")},
		{"only the first length is cut", BYTES, "\x02\x00\x00\x00ab\x01\x00\x00\x00c", export.Text("ab\x01\x00\x00\x00c")},
		{"scalar", INT32, "\xfe\xff\xff\xff", export.JSON("-2")},
		{"array", UINT16, "\x01\x00\xff\xff", export.JSON("[1,65535]")},
		{"bool", BOOL, "\x02", export.JSON("true")},
		{"bools", BOOL, "\x00\x01", export.JSON("[false,true]")},
		{"int8", INT8, "\x80", export.JSON("-128")},
		{"fp32 is widened", FP32, "\xcd\xcc\xcc\x3d", export.JSON("0.10000000149011612")},
		{"fp64", FP64, "\x9a\x99\x99\x99\x99\x99\xb9\x3f", export.JSON("0.1")},
		{"NaN", FP32, "\x00\x00\xc0\x7f", export.Text("NaN")},
		{"infinities", FP32, "\x00\x00\x80\x7f\x00\x00\x80\xff", export.JSON(`["Infinity","-Infinity"]`)},
		{"fp16", FP16, "\x00\x3c", export.JSON("null")},
		{"bf16", BF16, "\x00\x3c\x00\x3c", export.JSON("null")},
		{"unknown type", "FP8", "\x00", export.JSON("null")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Value(tt.dt, []byte(tt.raw))
			if err != nil || got.Text != tt.want.Text || string(got.Data) != string(tt.want.Data) {
				t.Errorf("Value(%s, %q) = %v %q, %v; want %v %q", tt.dt, tt.raw, got.Text, got.Data, err, tt.want.Text, tt.want.Data)
			}
		})
	}
	for _, tt := range []struct {
		dt        Datatype
		raw, want string
	}{
		{INT32, "\x00\x00\x00", "INT32 tensor of 3 bytes: not a multiple of 4"},
		{BYTES, "\x00\x00", "BYTES tensor of 2 bytes: no room for the 4-byte length"},
	} {
		if _, err := Value(tt.dt, []byte(tt.raw)); err == nil || err.Error() != tt.want {
			t.Errorf("Value(%s, %q): %v, want %s", tt.dt, tt.raw, err, tt.want)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-12.5, "-12.5"},
		{1000, "1000.0"},
		{123456789012345678901, "123456789012345680000.0"}, // 21 digits before the point: the last without exponent
		{1e20, "100000000000000000000.0"},
		{1e21, "1e21"},
		{1.5e21, "1.5e21"},
		{0.1, "0.1"},
		{0.00000123, "0.00000123"}, // five zeros after the point: the last without exponent
		{0.000000123, "1.23e-7"},
		{2.5e-8, "2.5e-8"},
		{1e300, "1e300"},
		{float64(float32(1e30)), "1.0000000150474662e30"},
		{5e-324, "5e-324"},
		{math.MaxFloat64, "1.7976931348623157e308"},
		{math.NaN(), "NaN"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
	} {
		if got := string(appendFloat(nil, tt.f)); got != tt.want {
			t.Errorf("appendFloat(%g) = %s, want %s", tt.f, got, tt.want)
		}
	}
}

// The text reads back as the same number, is a JSON number with a point or an
// exponent, and has no more digits than strconv's shortest.
func FuzzAppendFloat(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 1e21, 123456.789, 5e-324, math.MaxFloat64, 1e-6, 1e-7} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		s := string(appendFloat(nil, v))
		back, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Float64bits(back) != bits {
			t.Fatalf("%x: %s reads back as %g, %v", bits, s, back, err)
		}
		if !json.Valid([]byte(s)) || !strings.ContainsAny(s, ".e") {
			t.Fatalf("%x: %s", bits, s)
		}
	})
}

// Value gives, for the same input data, the inputs and outputs that perf_analyzer exported of its
// runs against a model that echoes every type.
func TestValueGolden(t *testing.T) {
	archive := golden.FS(t, "perf_analyzer")
	dirs, err := fs.Glob(archive, "2.[56]*/types_*/prompts.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden runs: %v", err)
	}
	checked := 0
	for _, prompts := range dirs {
		dir := strings.TrimSuffix(prompts, "prompts.json")
		if strings.HasPrefix(dir, "2.52.0") { // 24.11 exports the length prefix
			continue
		}
		file, err := fs.ReadFile(archive, dir+"profile_export.json")
		if err != nil || len(file) == 0 { // NaN: perf_analyzer leaves an empty file
			continue
		}
		var in struct{ Data []map[string]json.RawMessage }
		js, err := fs.ReadFile(archive, prompts)
		if err == nil {
			err = json.Unmarshal(js, &in)
		}
		if err != nil {
			t.Fatal(prompts, err)
		}
		var out struct {
			Experiments []struct {
				Requests []struct {
					Inputs  map[string]json.RawMessage   `json:"request_inputs"`
					Outputs []map[string]json.RawMessage `json:"response_outputs"`
				}
			}
		}
		if err := json.Unmarshal(file, &out); err != nil {
			t.Fatal(dir, err)
		}
		r := out.Experiments[0].Requests[0]
		for name, js := range in.Data[0] {
			typ := strings.TrimPrefix(name, "IN_")
			dt := Datatype(typ)
			if typ == "STRING" {
				dt = BYTES
			}
			input, err := ParseInput(js, dt)
			if err != nil {
				t.Fatalf("%s%s: %v", dir, name, err)
			}
			v, err := Value(dt, input.Data)
			if err != nil {
				t.Fatalf("%s%s: %v", dir, name, err)
			}
			got := string(v.Data)
			if v.Text {
				got = string(appendString(nil, v.Data))
			}
			if want := string(r.Inputs[name]); got != want {
				t.Errorf("%s%s: got %s, want %s", dir, name, got, want)
			}
			if want := string(r.Outputs[0]["OUT_"+typ]); got != want {
				t.Errorf("%sOUT_%s: got %s, want %s", dir, typ, got, want)
			}
			checked++
		}
	}
	if checked < 32 {
		t.Errorf("checked %d tensors, want at least 32", checked)
	}
}

// Values that JSON has no form for, and their places in the tensor.
func TestCheckJSON(t *testing.T) {
	fp32 := func(all ...float32) []byte {
		var b []byte
		for _, f := range all {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
		return b
	}
	fp64 := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, tt := range []struct {
		name string
		dt   Datatype
		raw  []byte
		want string
	}{
		{"numbers", INT32, []byte{1, 0, 0, 0}, ""},
		{"nothing", FP32, nil, ""},
		{"floats", FP32, fp32(1, -2.5, math.MaxFloat32), ""},
		{"a NaN", FP32, fp32(1, float32(math.NaN())), "element 1 is NaN, which cannot be written as JSON"},
		{"an infinity", FP64, fp64(math.Inf(-1)), "element 0 is -Inf, which cannot be written as JSON"},
		{"half floats", FP16, []byte{0, 0}, "FP16 cannot be written as JSON"},
		{"bfloats", BF16, nil, "BF16 cannot be written as JSON"},
		{"a type of later", Datatype("FP4"), []byte{0}, "FP4 cannot be written as JSON"},
		{"strings", BYTES, AppendBytes(AppendBytes(nil, "ä"), ""), ""},
		{"a string of bytes", BYTES, AppendBytes(AppendBytes(nil, "a"), "\xff"), "element 1 is not UTF-8, and cannot be written as JSON"},
	} {
		err := CheckJSON(tt.dt, tt.raw)
		if got := fmt.Sprint(err); err == nil != (tt.want == "") || err != nil && got != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
