package dataset

import (
	"encoding/json"
	"fmt"
	"strings"
)

// serverRows holds the rows of an answer of Hugging Face's datasets server:
//
//	{"features": […], "rows": [{"row_idx": 0, "row": {…}, "truncated_cells": []}, …]}
type serverRows struct{ *document }

func (s serverRows) row(i int) (*row, error) {
	outer, err := s.document.row(i)
	if err != nil {
		return nil, err
	}
	return unwrap(outer)
}

// unwrap returns the row within an element of the datasets server.
func unwrap(outer *row) (*row, error) {
	js := outer.get("row")
	if js == nil {
		return nil, missing(outer, "row")
	}
	var cut []string
	if cells := outer.get("truncated_cells"); cells != nil && json.Unmarshal(cells, &cut) == nil && len(cut) > 0 {
		return nil, fmt.Errorf("the datasets server has cut %s; use the dataset's files", strings.Join(quoteAll(cut), ", "))
	}
	return parseObject(js)
}
