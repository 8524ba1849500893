package kserve

import "testing"

func TestParseParam(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want any // value or error text
	}{
		{"n:3:int", int64(3)},
		{"n:-9223372036854775808:int", int64(-1 << 63)},
		{"n:true:bool", true},
		{"n:0:bool", false},
		{"n:a:b:string", "a:b"},
		{"n::string", ""},
		{"n:3", `request parameter "n:3": expected name:value:type`},
		{":3:int", `request parameter ":3:int": expected name:value:type`},
		{"n:x:int", `request parameter "n:x:int": "x" is not an integer`},
		{"n:x:bool", `request parameter "n:x:bool": "x" is not true or false`},
		{"n:x:float", `request parameter "n:x:float": type "float" is not bool, int or string`},
	} {
		p, err := ParseParam(tt.in)
		if err != nil {
			if err.Error() != tt.want {
				t.Errorf("ParseParam(%q): %v, want %v", tt.in, err, tt.want)
			}
			continue
		}
		if want := (Param{Name: "n", Value: tt.want}); p != want {
			t.Errorf("ParseParam(%q) = %v, want %v", tt.in, p, want)
		}
	}
}
