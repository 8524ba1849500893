package svg

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// rgb returns the linear components of a color such as #1264e1.
func rgb(t *testing.T, color string) (c [3]float64) {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil || len(color) != 7 {
		t.Fatalf("%q is no color", color)
	}
	for i := range c {
		v := float64(n>>(16-8*i)&0xFF) / 255
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// contrast is the contrast ratio of WCAG 2.2.
func contrast(a, b [3]float64) float64 {
	high, low := luminance(a), luminance(b)
	return (max(high, low) + 0.05) / (min(high, low) + 0.05)
}

// The examples of WCAG's own pages hold the formula.
func TestContrastFormula(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"#ffffff", "#000000", 21},
		{"#ffffff", "#ffffff", 1},
		{"#777777", "#ffffff", 4.48}, // "4.47:1" or "4.48:1", the known example of gray text that just fails
		{"#767676", "#ffffff", 4.54}, // and that just passes
	} {
		if got := contrast(rgb(t, tt.a), rgb(t, tt.b)); math.Abs(got-tt.want) > 0.005 {
			t.Errorf("contrast of %s and %s = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// Text has a contrast of at least 4.5 to the background, every mark one of at least 3, in both themes
// (WCAG 2.2, 1.4.3 and 1.4.11). Labels of reference lines are text.
func TestContrast(t *testing.T) {
	for _, theme := range []Theme{Light, Dark} {
		behind := rgb(t, theme.color(background))
		for r := range roles {
			least := 3.0
			switch r {
			case background, grid:
				continue
			case text, quiet, reference:
				least = 4.5
			}
			if got := contrast(rgb(t, theme.color(r)), behind); got < least {
				t.Errorf("theme %d: %s %s has a contrast of %.2f, want at least %v", theme, palette[r].name, theme.color(r), got, least)
			}
		}
	}
}

// vision are the matrices of Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009) for linear RGB, at
// full severity.
var vision = []struct {
	name   string
	matrix [3][3]float64
	least  float64 // distance of two colors of series
}{
	{"full color vision", [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0.11},
	{"protanopia", [3][3]float64{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}, 0.11},
	{"deuteranopia", [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}, 0.11},
	{"tritanopia", [3][3]float64{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}, 0.09},
}

// oklab returns linear RGB in the space OKLab (Ottosson, 2020), in which distances are about as seen.
func oklab(c [3]float64) [3]float64 {
	mul := func(m [3][3]float64, v [3]float64) (out [3]float64) {
		for i := range m {
			for j := range v {
				out[i] += m[i][j] * v[j]
			}
		}
		return out
	}
	lms := mul([3][3]float64{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}, c)
	for i := range lms {
		lms[i] = math.Cbrt(lms[i])
	}
	return mul([3][3]float64{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}}, lms)
}

// distance is the distance of two colors as a reader with the vision m sees them.
func distance(a, b [3]float64, m [3][3]float64) float64 {
	see := func(c [3]float64) (out [3]float64) {
		for i := range m {
			for j := range c {
				out[i] += m[i][j] * c[j]
			}
			out[i] = min(max(out[i], 0), 1)
		}
		return oklab(out)
	}
	x, y := see(a), see(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// The colors of any two series differ for every reader; the least distance of the palette of Okabe and
// Ito is 0.076 by the same measure. The colors of cells get darker, or lighter, from step to step.
func TestColorVision(t *testing.T) {
	for _, theme := range []Theme{Light, Dark} {
		for _, v := range vision {
			for a := range role(colors) {
				for b := range a {
					x, y := theme.color(firstStyle+a), theme.color(firstStyle+b)
					if d := distance(rgb(t, x), rgb(t, y), v.matrix); d < v.least {
						t.Errorf("%s: %s and %s have a distance of %.3f, want at least %v", v.name, x, y, d, v.least)
					}
				}
			}
		}
		before := contrast(rgb(t, theme.color(background)), rgb(t, theme.color(firstHeat)))
		for i := role(1); i < heatSteps; i++ {
			now := contrast(rgb(t, theme.color(background)), rgb(t, theme.color(firstHeat+i)))
			if now < 1.15*before {
				t.Errorf("theme %d: step %d of the cells has a contrast of %.2f after %.2f", theme, i, now, before)
			}
			before = now
		}
	}
}

// Styles that share a color differ in dash and in marker, and so do neighbors.
func TestLooks(t *testing.T) {
	const styles = 64
	seen := map[look]int{}
	for style := range styles {
		l := lookOf(style)
		if other, ok := seen[l]; ok {
			t.Errorf("styles %d and %d look the same", other, style)
		}
		seen[l] = style
		for before := range style {
			o := lookOf(before)
			if o.color == l.color && (o.dash == l.dash || o.marker == l.marker) {
				t.Errorf("styles %d and %d share color and dash or marker", before, style)
			}
			if style < colors && (o.color == l.color || o.dash == l.dash || o.marker == l.marker) {
				t.Errorf("styles %d and %d share a color, a dash or a marker", before, style)
			}
		}
	}
	if got := lookOf(styles); got != lookOf(0) {
		t.Errorf("lookOf(%d) = %v, want the first again", styles, got)
	}
}
