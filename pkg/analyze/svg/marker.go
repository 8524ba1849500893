package svg

import (
	"math"
	"strings"
)

// markers is the number of marker shapes.
const markers = 8

// marker draws marker n at a place, about 2*r wide. An open marker has an outline only, so that
// a marker below it stays visible.
func (w *writer) marker(n int, x, y, r float64, open bool, title string) {
	attributes := []string{"fill", "currentColor", "class", "pa-halo", "stroke", palette[background].light, "stroke-width", "1"}
	if open {
		attributes = []string{"stroke", "currentColor", "stroke-width", "1.4"}
	}
	if n == 0 {
		w.empty("circle", title, append([]string{"cx", px(x), "cy", px(y), "r", px(r)}, attributes...)...)
		return
	}
	w.empty("path", title, append([]string{"d", outline(n, x, y, r)}, attributes...)...)
}

// outline returns the path of marker n, 1 or more.
func outline(n int, x, y, r float64) string {
	var at [][2]float64
	switch n {
	case 1: // square
		a := r * 0.9
		at = [][2]float64{{-a, -a}, {a, -a}, {a, a}, {-a, a}}
	case 2: // triangle
		at = [][2]float64{{0, -1.25 * r}, {1.15 * r, 0.8 * r}, {-1.15 * r, 0.8 * r}}
	case 3: // diamond
		at = [][2]float64{{0, -1.35 * r}, {1.35 * r, 0}, {0, 1.35 * r}, {-1.35 * r, 0}}
	case 4: // triangle that points down
		at = [][2]float64{{0, 1.25 * r}, {-1.15 * r, -0.8 * r}, {1.15 * r, -0.8 * r}}
	case 5: // cross
		at = cross(r*1.25, r*0.45, 0)
	case 6: // star of five rays
		for i := range 10 {
			a, d := float64(i)*math.Pi/5, 1.45*r
			if i%2 == 1 {
				d = 0.62 * r
			}
			at = append(at, [2]float64{d * math.Sin(a), -d * math.Cos(a)})
		}
	default: // oblique cross
		at = cross(r*1.35, r*0.45, math.Pi/4)
	}
	var b strings.Builder
	for i, p := range at {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + px(x+p[0]) + " " + px(y+p[1]))
	}
	return b.String() + "Z"
}

// cross returns the corners of a cross with arms of a length and half a width, turned by an angle.
func cross(long, half, angle float64) (at [][2]float64) {
	sin, cos := math.Sincos(angle)
	for _, p := range [][2]float64{
		{-half, -long},
		{half, -long},
		{half, -half},
		{long, -half},
		{long, half},
		{half, half},
		{half, long},
		{-half, long},
		{-half, half},
		{-long, half},
		{-long, -half},
		{-half, -half},
	} {
		at = append(at, [2]float64{float64(p[0]*cos) - float64(p[1]*sin), float64(p[0]*sin) + float64(p[1]*cos)})
	}
	return at
}

// barLook returns the attributes of a bar.
func barLook(l look, x, y, wide, high float64) []string {
	return []string{
		"x", px(x), "y", px(y), "width", px(wide), "height", px(high), "fill", "currentColor", "fill-opacity", "0.3",
		"stroke", "currentColor", "stroke-width", "1.4", "stroke-dasharray", l.dash,
	}
}
