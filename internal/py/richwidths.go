package py

import "math"

// widths returns the width of each column with its padding, where most is what
// all of them may take.
func (t *RichTable) widths(most int) []int {
	natural := make([]int, len(t.Columns))
	for i := range t.Columns {
		natural[i] = t.measure(i, most)
	}
	widths := make([]int, len(natural))
	for i, w := range natural {
		widths[i] = max(w, 1)
	}
	if sum(widths) <= most {
		return widths
	}
	widths = t.collapse(widths, most)
	if excess := sum(widths) - most; excess > 0 { // all of them, evenly
		ratios := make([]int, len(widths))
		for i := range ratios {
			ratios[i] = 1
		}
		widths = reduce(excess, ratios, widths, widths)
	}
	for i, w := range widths {
		widths[i] = t.measure(i, max(0, w))
	}
	return widths
}

// measure returns how wide a column wants to be, most at most.
func (t *RichTable) measure(column, most int) int {
	switch {
	case most < 1:
		return 0
	case most-2*padding < 1:
		return most
	}
	widest := 0
	look := func(text string) {
		for _, l := range splitLines(text) {
			widest = max(widest, length(l))
		}
	}
	look(t.Columns[column].Header)
	for _, r := range t.Rows {
		look(r[column])
	}
	return min(widest+2*padding, most)
}

// collapse narrows the widest columns to the width of the next ones. It repeats this
// until all columns together fit most, or until the columns that may be narrowed have
// equal widths.
func (t *RichTable) collapse(widths []int, most int) []int {
	for excess := sum(widths) - most; excess > 0; excess = sum(widths) - most {
		first, second := -1, 0
		for i, w := range widths {
			if !t.Columns[i].NoWrap {
				first = max(first, w)
			}
		}
		ratios := make([]int, len(widths))
		for i, w := range widths {
			switch {
			case t.Columns[i].NoWrap:
			case w == first:
				ratios[i] = 1
			default:
				second = max(second, w)
			}
		}
		if first <= second {
			break
		}
		limits := make([]int, len(widths))
		for i := range limits {
			limits[i] = min(excess, first-second)
		}
		widths = reduce(excess, ratios, limits, widths)
	}
	return widths
}

// reduce takes total away from the values by their ratios, of each no more than
// its limit. Halves are rounded to even.
func reduce(total int, ratios, limits, values []int) []int {
	all := 0
	for i, r := range ratios {
		if limits[i] != 0 {
			all += r
		}
	}
	result := make([]int, len(values))
	for i, v := range values {
		if limits[i] != 0 && ratios[i] != 0 && all > 0 {
			part := math.RoundToEven(float64(ratios[i]*total) / float64(all))
			n := min(limits[i], int(part))
			v -= n
			total -= n
			all -= ratios[i]
		}
		result[i] = v
	}
	return result
}

func sum(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
