package svg

// A Figure is a picture: title, legend, and one or more panels.
type Figure struct {
	Title    string
	Subtitle string
	// Desc describes the picture for a screen reader. A summary of each panel follows it.
	Desc    string
	Width   int // in pixels; 0: 760; at least 320
	Columns int // panels side by side; 0: 1
	Panels  []Panel
	Notes   []string // lines below the panels
}

// A Panel is a pair of axes and what is drawn on them: first cells, then series, then lines.
type Panel struct {
	Title  string // "" for none
	Aside  string // at the right end above the axes, such as a number of values
	X, Y   Axis   // an X without a Label has no unit either, for panels in one column
	Height int    // of the area inside the axes, in pixels; 0: 240
	Cells  *Cells
	Series []Series
	Lines  []Line
	// NoData says why there is nothing to draw. It shows only if there is nothing.
	NoData string
}

// A Series is data of one name and style.
type Series struct {
	// Name stands in the legend. Series with the same name and style share an entry, also across
	// panels; a series without a name has none.
	Name string
	// Style selects color, dash and marker; 64 styles differ, then they repeat. It is not negative.
	Style  int
	Shape  Shape
	Points []Point
}

// A Shape says how the points of a series are drawn.
type Shape int

// The shapes. A line breaks at a point that has no place on the axes.
const (
	LinePoints Shape = iota // a line with a marker at each point
	Lines                   // a line, with a marker only at points that have a Title
	Steps                   // a horizontal line from each point to the next, marked as Lines
	Points                  // open markers
	Bars                    // a bar from the bottom of the panel
)

// A Point is a value at a place. A coordinate that is NaN or infinite, or that is 0 or less on a
// logarithmic axis, means that the value is absent.
type Point struct {
	X, Y float64
	// XInterval and YInterval are drawn as error bars. An infinite end reaches to the edge of the
	// panel.
	XInterval, YInterval Interval
	Label                string // drawn beside the point where there is room
	Title                string // first line of the text that shows when the pointer is on the mark
}

// An Interval is a range of values. The zero value is none, as is every other one whose Low is not
// less than its High.
type Interval struct{ Low, High float64 }

func (i Interval) ok() bool { return i.Low < i.High }

// A Line is a reference line across the panel.
type Line struct {
	Vertical bool
	At       float64  // NaN for a band without a line
	Band     Interval // shaded; an infinite end reaches to the edge
	Label    string
	Quiet    bool // thin and gray: a mark of time, not a limit
}

// Cells are the counts of a heat map.
type Cells struct {
	// X and Y are the edges of the columns and rows, ascending, one more than there are columns
	// and rows.
	X, Y []float64
	// Counts holds the count of column i and row j at i*(len(Y)-1)+j. A count of 0 is not drawn.
	Counts []uint64
	Of     string // what is counted, in the plural: "gaps"
}

// at returns the count of column i and row j; 0 if Counts is too short.
func (c *Cells) at(i, j int) uint64 {
	if k := i*(len(c.Y)-1) + j; k < len(c.Counts) {
		return c.Counts[k]
	}
	return 0
}

// most returns the highest count.
func (c *Cells) most() uint64 {
	most := uint64(0)
	for i := range len(c.X) - 1 {
		for j := range len(c.Y) - 1 {
			most = max(most, c.at(i, j))
		}
	}
	return most
}
