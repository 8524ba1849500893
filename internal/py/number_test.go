package py

import (
	"math"
	"strconv"
	"testing"
)

// The texts are what CPython 3 prints.
func TestFixed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		f float64
		// f"{f:.0f}", f"{f:.2f}", f"{f:,.0f}", f"{f:,.2f}", repr(round(f, 2))
		whole, cents, groupedWhole, groupedCents, round string
	}{
		{0, "0", "0.00", "0", "0.00", "0.0"},
		{math.Copysign(0, -1), "-0", "-0.00", "-0", "-0.00", "-0.0"},
		{0.5, "0", "0.50", "0", "0.50", "0.5"}, // half to even
		{1.5, "2", "1.50", "2", "1.50", "1.5"},
		{2.5, "2", "2.50", "2", "2.50", "2.5"},
		{-2.5, "-2", "-2.50", "-2", "-2.50", "-2.5"},
		{0.125, "0", "0.12", "0", "0.12", "0.12"},
		{2.675, "3", "2.67", "3", "2.67", "2.67"}, // a little less than that
		{0.005, "0", "0.01", "0", "0.01", "0.01"}, // a little more
		{1.005, "1", "1.00", "1", "1.00", "1.0"},
		{999.994, "1000", "999.99", "1,000", "999.99", "999.99"},
		{999.995, "1000", "1000.00", "1,000", "1,000.00", "1000.0"}, // rounded, then grouped
		{-999.9, "-1000", "-999.90", "-1,000", "-999.90", "-999.9"},
		{123, "123", "123.00", "123", "123.00", "123.0"},
		{1234, "1234", "1234.00", "1,234", "1,234.00", "1234.0"},
		{-1234.5, "-1234", "-1234.50", "-1,234", "-1,234.50", "-1234.5"},
		{99999.5, "100000", "99999.50", "100,000", "99,999.50", "99999.5"},
		{999999.995, "1000000", "999999.99", "1,000,000", "999,999.99", "999999.99"},
		{123456789012.345, "123456789012", "123456789012.35", "123,456,789,012", "123,456,789,012.35", "123456789012.35"},
		{1e16 + 2, "10000000000000002", "10000000000000002.00", "10,000,000,000,000,002", "10,000,000,000,000,002.00", "1.0000000000000002e+16"},
		{1e22, "10000000000000000000000", "10000000000000000000000.00", "10,000,000,000,000,000,000,000", "10,000,000,000,000,000,000,000.00", "1e+22"},
		{-0.001, "-0", "-0.00", "-0", "-0.00", "-0.0"},
		{5e-324, "0", "0.00", "0", "0.00", "0.0"},
		{nan, "nan", "nan", "nan", "nan", "nan"},
		{inf, "inf", "inf", "inf", "inf", "inf"},
		{-inf, "-inf", "-inf", "-inf", "-inf", "-inf"},
	} {
		for _, c := range []struct{ call, got, want string }{
			{"Fixed(%v, 0)", Fixed(tt.f, 0), tt.whole},
			{"Fixed(%v, 2)", Fixed(tt.f, 2), tt.cents},
			{"Grouped(%v, 0)", Grouped(tt.f, 0), tt.groupedWhole},
			{"Grouped(%v, 2)", Grouped(tt.f, 2), tt.groupedCents},
			{"Repr(Round(%v, 2))", Repr(Round(tt.f, 2)), tt.round},
		} {
			if c.got != c.want {
				t.Errorf(c.call+" = %q, want %q", tt.f, c.got, c.want)
			}
		}
	}
}

// The texts are what CPython 3 prints for f"{f:g}".
func TestGeneral(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{300, "300"},
		{300.5, "300.5"},
		{100000, "100000"},
		{1e6, "1e+06"},
		{123456.5, "123456"},
		{1234567, "1.23457e+06"},
		{0.0001, "0.0001"},
		{0.00001, "1e-05"},
		{-0.25, "-0.25"},
		{2.0 / 3, "0.666667"},
		{math.NaN(), "nan"},
		{math.Inf(-1), "-inf"},
	} {
		if got := General(tt.f); got != tt.want {
			t.Errorf("General(%v) = %q, want %q", tt.f, got, tt.want)
		}
	}
}

// The texts are what CPython 3 prints.
func TestRepr(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-2, "-2.0"},
		{0.1, "0.1"},
		{1.0 / 3, "0.3333333333333333"},
		{0.003090155677419355, "0.003090155677419355"},
		{100, "100.0"},
		{0.0001, "0.0001"}, // the last positional one
		{0.00012345, "0.00012345"},
		{0.00001, "1e-05"},
		{0.000012345, "1.2345e-05"},
		{1e-9, "1e-09"},
		{-5e-10, "-5e-10"},
		{1e15, "1000000000000000.0"},
		{9999999999999998, "9999999999999998.0"}, // the last positional one
		{1e16, "1e+16"},
		{1.5e16, "1.5e+16"},
		{123456789012345680, "1.2345678901234568e+17"},
		{1e22, "1e+22"},
		{1e100, "1e+100"},
		{5e-324, "5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.Inf(1), "inf"},
		{math.Inf(-1), "-inf"},
		{math.NaN(), "nan"},
	} {
		if got := Repr(tt.f); got != tt.want {
			t.Errorf("Repr(%g) = %q, want %q", tt.f, got, tt.want)
		}
	}
}

func FuzzRepr(f *testing.F) {
	f.Add(uint64(0))
	f.Add(math.Float64bits(1e16))
	f.Add(math.Float64bits(0.0001))
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		if math.IsNaN(x) {
			return
		}
		back, err := strconv.ParseFloat(Repr(x), 64)
		if err != nil || math.Float64bits(back) != bits {
			t.Errorf("Repr(%g) = %q, which reads back as %g, %v", x, Repr(x), back, err)
		}
	})
}
