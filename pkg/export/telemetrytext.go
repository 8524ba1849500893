package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// All file formats keep telemetry as JSON objects: profile_export.json as the elements of an array, the others as
// lines of text. Each object is a series or a scrape.
//
//	{"series":0,"source":"http://gpu1:8002/metrics","name":"nv_gpu_utilization","type":"gauge","labels":{"gpu_uuid":"GPU-1"}}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"values":[[0,0.5,1],[7,"NaN"]]}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"error":"connection refused"}
//	{"source":"http://gpu1:8002/metrics","start_ns":T,"end_ns":T,"left_out":1200,"values":[[0,0.5]]}
//
// A series comes before the first scrape that has a value of it. Series are numbered from 0 in the order in which
// they come. A scrape holds runs of values. A run is the number of a series, the value of that series, the value
// of the next series, and so on. A value is a number, or one of the strings "NaN", "+Inf" and "-Inf".

// An ScrapeEncoder writes the scrapes of one run. The zero value is ready.
type ScrapeEncoder struct {
	ids map[*Series]int
}

// Append appends the objects for s to b, a separator before each: first the
// series that are new, then the scrape.
func (e *ScrapeEncoder) Append(b []byte, s *Scrape, separator byte) []byte {
	if e.ids == nil {
		e.ids = map[*Series]int{}
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

func appendSeries(b []byte, id int, s *Series) []byte {
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

func (e *ScrapeEncoder) appendScrape(b []byte, s *Scrape) []byte {
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

// A ScrapeDecoder reads the objects of an ScrapeEncoder one by one. The zero value is ready.
type ScrapeDecoder struct {
	// MaxBytes bounds the memory of the series; 0 means 64 MiB.
	MaxBytes int64

	series []*Series // nil: beyond the bound
	last   *Series   // the last that was kept
	bytes  int64
	scrape Scrape
}

// maxSamples bounds a scrape.
const maxSamples = 1 << 20

// maxSeries bounds the number of series, kept or not.
const maxSeries = 1 << 22

const defaultMaxBytes = 64 << 20

// The approximate memory of a series and a label besides their texts. A series that is not
// kept still takes a place in the list.
const (
	seriesBytes = 160
	labelBytes  = 32
)

// Line reads a line that holds an object, or nothing. It calls do with a scrape, and bad if there is no object. It returns
// the error of do.
func (d *ScrapeDecoder) Line(line []byte, do func(*Scrape) error, bad func(error)) error {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	s, err := d.Object(line)
	switch {
	case err != nil:
		bad(err)
	case s != nil:
		return do(s)
	}
	return nil
}

// Object reads one object from the compact JSON text b. It returns the scrape, which is
// valid until the next call, or nil for a series. An object with an error is dropped. A
// series beyond MaxBytes still counts as a series, and scrapes count its samples as left
// out.
func (d *ScrapeDecoder) Object(b []byte) (*Scrape, error) {
	var o struct {
		Series  *int            `json:"series"`
		Source  string          `json:"source"`
		Name    string          `json:"name"`
		Type    string          `json:"type"`
		Labels  json.RawMessage `json:"labels"`
		StartNS uint64          `json:"start_ns"`
		EndNS   uint64          `json:"end_ns"`
		Error   string          `json:"error"`
		LeftOut uint32          `json:"left_out"`
	}
	// The values are most of it, and are read without reflection.
	rest, values, err := split(b)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(rest, &o); err != nil {
		return nil, jsonscan.InWords(err)
	}
	if o.Series == nil {
		d.scrape = Scrape{Source: o.Source, StartNS: o.StartNS, EndNS: o.EndNS, Error: o.Error, LeftOut: int(o.LeftOut), Samples: d.scrape.Samples[:0]}
		if err := d.values(values); err != nil {
			return nil, err
		}
		return &d.scrape, nil
	}
	if *o.Series == maxSeries {
		return nil, fmt.Errorf("more than %d series", maxSeries)
	}
	if *o.Series != len(d.series) {
		return nil, fmt.Errorf("series %d follows %d of them", *o.Series, len(d.series))
	}
	labels, err := decodeLabels(o.Labels)
	if err != nil {
		return nil, fmt.Errorf("series %d: labels: %w", *o.Series, jsonscan.InWords(err))
	}
	most := d.MaxBytes
	if most <= 0 {
		most = defaultMaxBytes
	}
	s := &Series{Source: o.Source, Name: o.Name, Type: o.Type, Labels: labels}
	if d.last != nil && s.Source == d.last.Source {
		s.Source = d.last.Source // one text for all of them
	}
	d.bytes += memory(s)
	if d.bytes > most {
		d.series = append(d.series, nil)
		return nil, fmt.Errorf("the series take more than %d bytes; the samples of series %d are left out", most, *o.Series)
	}
	d.series, d.last = append(d.series, s), s
	return nil, nil
}

// memory returns the approximate memory of a series without the text of its source, which
// is shared.
func memory(s *Series) int64 {
	n := seriesBytes + len(s.Name) + len(s.Type)
	for _, l := range s.Labels {
		n += labelBytes + len(l.Name) + len(l.Value)
	}
	return int64(n)
}

// split takes the member "values" out of the object b. rest is valid until b
// changes.
func split(b []byte) (rest, values []byte, err error) {
	// Within a string the quotes would have backslashes, and the value of a label
	// of that name is a string.
	at := bytes.Index(b, []byte(`"values":[`))
	if at < 0 {
		return b, nil, nil
	}
	start := at + len(`"values":`)
	end, _, err := jsonscan.Value(append(b[:len(b):len(b)], ' '), start)
	if err != nil {
		return nil, nil, fmt.Errorf("values: %w", err)
	}
	rest = append(rest, b[:at]...)
	rest = append(rest, `"values":null`...)
	return append(rest, b[end:]...), b[start:end], nil
}

var errValues = errors.New(`"values" has to be an array of arrays, each of the number of a series and numbers`)

// values reads the runs of values into the scrape.
func (d *ScrapeDecoder) values(b []byte) error {
	if b == nil || string(b) == "null" {
		return nil
	}
	b = append(b[:len(b):len(b)], ' ')
	if b[0] != '[' {
		return errValues
	}
	_, err := jsonscan.Elements(b, 0, func(at int) (end int, err error) {
		if b[at] != '[' {
			return at, errValues
		}
		return d.run(b, at)
	})
	return err
}

// run reads the run at b[i].
func (d *ScrapeDecoder) run(b []byte, i int) (end int, err error) {
	id := -1 // before the first element
	end, err = jsonscan.Elements(b, i, func(at int) (end int, err error) {
		if end, _, err = jsonscan.Value(b, at); err != nil {
			return end, err
		}
		text := b[at:end]
		if id < 0 {
			n, err := strconv.ParseUint(string(text), 10, 31)
			if err != nil {
				return end, errValues
			}
			id = int(n)
			return end, nil
		}
		v, err := decodeValue(text)
		if err != nil {
			return end, err
		}
		id++
		return end, d.sample(id-1, v)
	})
	if err == nil && id < 0 {
		err = errValues
	}
	return end, err
}

// sample adds the value of a series to the scrape.
func (d *ScrapeDecoder) sample(series int, v float64) error {
	switch {
	case series >= len(d.series):
		return fmt.Errorf("series %d is not known: there are %d of them so far", series, len(d.series))
	case d.series[series] == nil:
		d.scrape.LeftOut++
	case len(d.scrape.Samples) == maxSamples:
		return fmt.Errorf("more than %d samples in a scrape", maxSamples)
	default:
		d.scrape.Samples = append(d.scrape.Samples, Sample{Series: d.series[series], Value: v})
	}
	return nil
}

func decodeValue(text []byte) (float64, error) {
	switch string(text) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"+Inf"`:
		return math.Inf(1), nil
	case `"-Inf"`:
		return math.Inf(-1), nil
	}
	if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, errValues
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit in a 64-bit number", jsonscan.Excerpt(text))
	}
	return v, nil
}

// decodeLabels reads an object of strings, in its order.
func decodeLabels(b []byte) (labels []Label, err error) {
	if len(b) == 0 || string(b) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("expected an object of strings")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		text, ok := value.(string)
		if !ok {
			return nil, errors.New("expected an object of strings")
		}
		labels = append(labels, Label{Name: name.(string), Value: text})
	}
	return labels, nil
}
