package jsonfile

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// An ScrapeEncoder writes the scrapes of one run. The zero value is ready.
type ScrapeEncoder struct {
	ids map[*export.Series]int
}

// Append appends the objects for s to b, a separator before each: first the
// series that are new, then the scrape.
func (e *ScrapeEncoder) Append(b []byte, s *export.Scrape, separator byte) []byte {
	if e.ids == nil {
		e.ids = map[*export.Series]int{}
	}
	for i := range s.Samples {
		series := s.Samples[i].Series
		if _, known := e.ids[series]; known {
			continue
		}
		e.ids[series] = len(e.ids)
		b = appendSeries(append(b, separator), len(e.ids)-1, series)
	}
	return e.appendScrape(append(b, separator), s)
}

func appendSeries(b []byte, id int, s *export.Series) []byte {
	b = strconv.AppendInt(append(b, `{"series":`...), int64(id), 10)
	b = appendText(append(b, `,"source":`...), s.Source)
	b = appendText(append(b, `,"name":`...), s.Name)
	if s.Type != "" {
		b = appendText(append(b, `,"type":`...), s.Type)
	}
	for i, l := range s.Labels {
		if i == 0 {
			b = append(b, `,"labels":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(appendText(b, l.Name), ':')
		b = appendText(b, l.Value)
	}
	if len(s.Labels) > 0 {
		b = append(b, '}')
	}
	return append(b, '}')
}

func (e *ScrapeEncoder) appendScrape(b []byte, s *export.Scrape) []byte {
	b = appendText(append(b, `{"source":`...), s.Source)
	b = strconv.AppendUint(append(b, `,"start_ns":`...), s.StartNS, 10)
	b = strconv.AppendUint(append(b, `,"end_ns":`...), s.EndNS, 10)
	if s.Error != "" {
		b = appendText(append(b, `,"error":`...), s.Error)
	}
	if s.LeftOut > 0 {
		b = strconv.AppendInt(append(b, `,"left_out":`...), int64(s.LeftOut), 10)
	}
	if len(s.Samples) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"values":[`...)
	last := -1
	for i := range s.Samples {
		id := e.ids[s.Samples[i].Series]
		switch {
		case i == 0:
			b = strconv.AppendInt(append(b, '['), int64(id), 10)
		case id != last+1:
			b = strconv.AppendInt(append(b, `],[`...), int64(id), 10)
		}
		b = appendValue(append(b, ','), s.Samples[i].Value)
		last = id
	}
	return append(b, `]]}`...)
}

// appendValue appends the shortest text of v.
func appendValue(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"+Inf"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Inf"`...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15 && (v != 0 || !math.Signbit(v)):
		return strconv.AppendInt(b, int64(v), 10) // 1000000 and not 1e+06
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendText appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string has a JSON form
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
