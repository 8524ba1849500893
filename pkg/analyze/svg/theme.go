package svg

import "strings"

// A Theme is a set of colors for a light or a dark background.
type Theme int

// The themes.
const (
	Light Theme = iota
	Dark
)

// A role is what a color is for.
type role int

const (
	background role = iota
	text            // of titles and names
	quiet           // text of ticks, subtitles and notes; axes
	grid            // lines behind the data, which carry no information
	reference       // reference lines
	firstStyle
	firstHeat = firstStyle + colors
	roles     = firstHeat + heatSteps
)

const (
	colors    = 8 // colors of series
	heatSteps = 7 // colors of cells, from few to many
)

// palette holds the colors of each role. They are near the colors of Okabe and Ito ("Color Universal
// Design", 2008), moved until each has a contrast of 3 to its background and no two look alike to
// readers with protanopia, deuteranopia or tritanopia; TestContrast and TestColorVision hold that.
var palette = [roles]struct {
	name        string
	light, dark string
}{
	background: {"bg", "#ffffff", "#14171c"},
	text:       {"text", "#1b1f24", "#e6e9ee"},
	quiet:      {"quiet", "#57606a", "#9aa4b0"},
	grid:       {"grid", "#d8dee4", "#2d333b"},
	reference:  {"ref", "#b42318", "#ff8a80"},

	firstStyle:     {"1", "#1264e1", "#62c8ff"},
	firstStyle + 1: {"2", "#de6b07", "#edb616"},
	firstStyle + 2: {"3", "#19646e", "#10a75b"},
	firstStyle + 3: {"4", "#b67992", "#f77eab"},
	firstStyle + 4: {"5", "#7e540d", "#f4f34d"},
	firstStyle + 5: {"6", "#562d9f", "#9588ff"},
	firstStyle + 6: {"7", "#4e93e4", "#3f73bd"},
	firstStyle + 7: {"8", "#321942", "#beecf3"},

	firstHeat:     {"h1", "#d27a04", "#3f73bd"},
	firstHeat + 1: {"h2", "#c9552a", "#2a989b"},
	firstHeat + 2: {"h3", "#ab3347", "#4db08d"},
	firstHeat + 3: {"h4", "#811b5e", "#7ec28e"},
	firstHeat + 4: {"h5", "#4c146a", "#a8d48e"},
	firstHeat + 5: {"h6", "#2c0a48", "#d0e68d"},
	firstHeat + 6: {"h7", "#120422", "#f8f78a"},
}

// color returns the color of a role.
func (t Theme) color(r role) string {
	if t == Dark {
		return palette[r].dark
	}
	return palette[r].light
}

// Properties returns the CSS custom properties of the theme, as the declarations of a rule:
// "--pa-bg:#ffffff;--pa-text:…". A page sets them on an element around its pictures.
func (t Theme) Properties() string {
	var b strings.Builder
	for r := range roles {
		b.WriteString("--pa-" + palette[r].name + ":" + t.color(r) + ";")
	}
	return b.String()
}

// Rules returns the CSS rules that color the parts of pictures by the custom properties. A page that
// holds pictures of [Figure.WriteInline] needs them once.
func Rules() string {
	var b strings.Builder
	for r := range roles {
		p := palette[r]
		b.WriteString(".pa-" + p.name + "{color:var(--pa-" + p.name + "," + p.light + ")}")
	}
	// Two colors meet in a mark: its own, and the background around it.
	return b.String() + ".pa-halo{stroke:var(--pa-bg," + palette[background].light + ")}"
}

// stylesheet is the style of a picture that is a file of its own.
func stylesheet() string {
	return Rules() + "@media(prefers-color-scheme:dark){.pa-figure{" + Dark.Properties() + "}}" +
		"@media print{.pa-figure{" + Light.Properties() + "}}"
}

// class returns the class of elements of a role, and its light color for readers of SVG that know no
// custom properties.
func (r role) class() []string {
	return []string{"class", "pa-" + palette[r].name, "color", palette[r].light}
}

// dashes are the dash patterns of lines; "" is solid.
var dashes = [...]string{"", "7 3", "2 2.5", "9 3 2 3", "14 4", "5 2 1 2 1 2", "4 4", "12 3 4 3"}

// A look is how the series of a style is drawn.
type look struct {
	color  role
	dash   string
	marker int
}

// lookOf returns the look of a style. Color, dash and marker differ between the first eight styles;
// each further eight combine a color with another dash and marker.
func lookOf(style int) look {
	n := len(dashes)
	round := style / colors
	return look{color: firstStyle + role(style%colors), dash: dashes[(style+round)%n], marker: (style + round) % markers}
}
