package h2follow

import "golang.org/x/net/http2/hpack"

const (
	// A table of the size that HTTP/2 starts with; the sender may ask for
	// more, as far as its peer allowed.
	headerTableBytes    = 4096
	maxHeaderTableBytes = 1 << 20
	maxHeaderBytes      = 1 << 20 // of a single name or value
	maxNameBytes        = 256     // of a stream
)

// headers decodes the header blocks of requests, all of them, because each may
// refer to earlier blocks.
type headers struct {
	decoder *hpack.Decoder
	name    string // the header looked for
	value   string // in the present block
}

func newHeaders(name string) *headers {
	h := &headers{name: name}
	h.decoder = hpack.NewDecoder(headerTableBytes, func(f hpack.HeaderField) {
		if f.Name == h.name && len(f.Value) <= maxNameBytes {
			h.value = f.Value
		}
	})
	h.decoder.SetAllowedMaxDynamicTableSize(maxHeaderTableBytes)
	h.decoder.SetMaxStringLength(maxHeaderBytes)
	return h
}

// write decodes the next bytes of a block.
func (h *headers) write(p []byte) error {
	_, err := h.decoder.Write(p)
	return err
}

// end ends a block and returns the value found in it; empty: none.
func (h *headers) end() (value string, err error) {
	err = h.decoder.Close()
	value, h.value = h.value, ""
	return value, err
}
