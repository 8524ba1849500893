package kserve

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// useHeaders takes the headers of the configuration. The error names all mistakes in them.
func (b *Backend) useHeaders() error {
	b.perRequest.Seed = b.cfg.RequestIDSeed
	b.fixed = http.Header{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Headers)) {
		for _, value := range b.cfg.Headers[name] {
			placed, err := b.perRequest.Add(name, value)
			errs = append(errs, err)
			if !placed {
				b.fixed[name] = append(b.fixed[name], value)
				b.secrets.AddHeader(name, value)
				continue
			}
			errs = append(errs, b.cfg.checkPlaces(name, value))
		}
	}
	for name, text := range b.perRequest.Literals() {
		b.secrets.AddHeader(name, text)
	}
	return errors.Join(errs...)
}

// checkPlaces returns an error if a place in the value of a header never has a value.
func (c *Config) checkPlaces(name, value string) error {
	found, err := backend.ParsePlaces(value)
	for _, p := range found {
		switch {
		case p != backend.PlaceRequest:
			return fmt.Errorf("header %s: %s has no value, because requests to Triton belong to no session; use %s", name, p, backend.PlaceRequest)
		case c.Streaming:
			return fmt.Errorf("header %s: %s has no value, because all requests of a gRPC stream share its headers; drop --streaming", name, p)
		}
	}
	return err
}
