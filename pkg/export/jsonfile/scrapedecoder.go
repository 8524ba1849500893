package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// A ScrapeDecoder reads the objects of an ScrapeEncoder one by one. The zero value is ready.
type ScrapeDecoder struct {
	// MaxBytes bounds the memory of the series; 0 means 64 MiB.
	MaxBytes int64

	series []*export.Series // nil: beyond the bound
	last   *export.Series   // the last that was kept
	bytes  int64
	scrape export.Scrape
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

// Object reads one object from the compact JSON text b. It returns the scrape, which is
// valid until the next call, or nil for a series. An object with an error is dropped. A
// series beyond MaxBytes still counts as a series, and scrapes count its samples as left
// out.
func (d *ScrapeDecoder) Object(b []byte) (*export.Scrape, error) {
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
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	if o.Series == nil {
		d.scrape = export.Scrape{Source: o.Source, StartNS: o.StartNS, EndNS: o.EndNS, Error: o.Error, LeftOut: int(o.LeftOut), Samples: d.scrape.Samples[:0]}
		if err := d.values(values); err != nil {
			return nil, fmt.Errorf("telemetry: %w", err)
		}
		return &d.scrape, nil
	}
	if *o.Series == maxSeries {
		return nil, fmt.Errorf("telemetry: more than %d series", maxSeries)
	}
	if *o.Series != len(d.series) {
		return nil, fmt.Errorf("telemetry: series %d follows %d of them", *o.Series, len(d.series))
	}
	labels, err := decodeLabels(o.Labels)
	if err != nil {
		return nil, fmt.Errorf("telemetry: series %d: labels: %w", *o.Series, err)
	}
	most := d.MaxBytes
	if most <= 0 {
		most = defaultMaxBytes
	}
	s := &export.Series{Source: o.Source, Name: o.Name, Type: o.Type, Labels: labels}
	if d.last != nil && s.Source == d.last.Source {
		s.Source = d.last.Source // one text for all of them
	}
	d.bytes += memory(s)
	if d.bytes > most {
		d.series = append(d.series, nil)
		return nil, fmt.Errorf("telemetry: the series take more than %d bytes; the samples of series %d are left out", most, *o.Series)
	}
	d.series, d.last = append(d.series, s), s
	return nil, nil
}

// memory returns the approximate memory of a series without the text of its source, which
// is shared.
func memory(s *export.Series) int64 {
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
		return nil, nil, fmt.Errorf("telemetry: values: %w", err)
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
	i := 1
	for first := true; ; first = false {
		next, more, err := jsonscan.NextElem(b, i, first)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if b[next] != '[' {
			return errValues
		}
		if i, err = d.run(b, next+1); err != nil {
			return err
		}
	}
}

// run reads one run, whose elements begin at i.
func (d *ScrapeDecoder) run(b []byte, i int) (end int, err error) {
	id := -1
	for first := true; ; first = false {
		next, more, err := jsonscan.NextElem(b, i, first)
		if err != nil {
			return 0, err
		}
		if !more {
			if first {
				return 0, errValues
			}
			return next, nil
		}
		if i, _, err = jsonscan.Value(b, next); err != nil {
			return 0, err
		}
		text := b[next:i]
		if first {
			n, err := strconv.ParseUint(string(text), 10, 31)
			if err != nil {
				return 0, errValues
			}
			id = int(n)
			continue
		}
		v, err := decodeValue(text)
		if err != nil {
			return 0, err
		}
		if id >= len(d.series) {
			return 0, fmt.Errorf("series %d is not known: there are %d of them so far", id, len(d.series))
		}
		if d.series[id] == nil {
			d.scrape.LeftOut++
			id++
			continue
		}
		if len(d.scrape.Samples) == maxSamples {
			return 0, fmt.Errorf("more than %d samples in a scrape", maxSamples)
		}
		d.scrape.Samples = append(d.scrape.Samples, export.Sample{Series: d.series[id], Value: v})
		id++
	}
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
		return 0, fmt.Errorf("%s does not fit in a 64-bit number", Excerpt(text))
	}
	return v, nil
}

// decodeLabels reads an object of strings, in its order.
func decodeLabels(b []byte) (labels []export.Label, err error) {
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
		labels = append(labels, export.Label{Name: name.(string), Value: text})
	}
	return labels, nil
}
