package explain

import (
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Keys are unique within their group, and each entry says what it is.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		id := string(e.Group) + " " + e.Key
		if e.OfLevel {
			id += " of level"
		}
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if e.Key == "" || e.Label == "" || e.Unit == "" || e.Formula == "" {
			t.Errorf("%+v lacks something", e)
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d entries", len(seen))
	}
}

// The table of docs/reference/metrics.md defines each metric of every report by its label and formula, and may add to them.
func TestMetricsPage(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range All() {
		if row := "\n| " + e.Label + " (`" + e.Key + "`) | " + e.Formula; e.Group == Usual && !strings.Contains(string(b), row) {
			t.Errorf("docs/reference/metrics.md has no row %s", row)
		}
	}
}

// No two metrics have one name and the same attributes.
func TestOTelNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, e := range All() {
		if e.OfLevel || e.OTel.Name == "" {
			continue
		}
		name := e.OTel.Name + " " + e.OTel.TokenType
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s are both %s", e.Key, other, name)
		}
		seen[name] = e.Key
	}
	for _, figure := range ServerFigures() {
		if !strings.HasPrefix(OTelServer(figure), "gen_ai.server.") {
			t.Errorf("%q has the name %q", figure, OTelServer(figure))
		}
	}
	if len(ServerFigures()) != len(serverNames) {
		t.Errorf("%d figures of servers, want %d", len(ServerFigures()), len(serverNames))
	}
}

func TestSeconds(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "0.000000001", 1e9: "1", 1.5: "0.0000000015", -250e6: "-0.25", 123456789012345678: "123456789.01234568",
		0.1: "0.0000000001", 12345678.9: "0.0123456789", 1e21: "1000000000000", 1e-7: "0.0000000000000001",
	} {
		if got := Seconds(v); got != want {
			t.Errorf("%v ns: got %s s, want %s", v, got, want)
		}
	}
}

// The seconds of every number are exactly 10⁻⁹ of its shortest decimal form, in the form of JSON.
func FuzzSeconds(f *testing.F) {
	for _, v := range []float64{0, 1, -1, 0.5, 1e9, 123456789.125, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		got := Seconds(v)
		x, ok := new(big.Rat).SetString(got)
		want, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'f', -1, 64))
		if !ok || x.Cmp(want.Mul(want, big.NewRat(1, 1e9))) != 0 {
			t.Errorf("%v ns: got %s s", v, got)
		}
		if digits := strings.TrimPrefix(got, "-"); len(digits) > 1 && digits[0] == '0' && digits[1] != '.' || strings.HasPrefix(digits, ".") || strings.HasSuffix(digits, ".") {
			t.Errorf("%v ns: %s is no number of JSON", v, got)
		}
	})
}

// Find tells a metric from a figure of the level with the same key, as stalls is both.
func TestFind(t *testing.T) {
	for _, e := range All() {
		if got := Find(e.Group, e.Key, e.OfLevel); got != e {
			t.Errorf("Find(%q, %q, %v) = %+v, want %+v", e.Group, e.Key, e.OfLevel, got, e)
		}
	}
	if got := Find(Usual, "no such key", false); got != (Entry{}) {
		t.Errorf("an unknown key has the entry %+v", got)
	}
}
