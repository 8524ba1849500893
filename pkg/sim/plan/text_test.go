package plan

import "testing"

func TestFillStamps(t *testing.T) {
	const ns = 1234567890123456789
	for _, row := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"none", " 000000000000000000", " 000000000000000000"},
		{"one", " " + stampDigits, " 1234567890123456789"},
		{"two", stampDigits + "x" + stampDigits + "\n", "1234567890123456789x1234567890123456789\n"},
		{"touching", stampDigits + stampDigits, "12345678901234567891234567890123456789"},
		{"cut", stampDigits[1:] + " " + stampDigits[:18], stampDigits[1:] + " " + stampDigits[:18]},
	} {
		b := []byte(row.in)
		if FillStamps(b, ns); string(b) != row.want {
			t.Errorf("%s: FillStamps(%q) = %q, want %q", row.name, row.in, b, row.want)
		}
	}
	b := []byte(stampDigits)
	if FillStamps(b, 42); string(b) != "0000000000000000042" {
		t.Errorf("a small number: %q", b)
	}
}
