package drive

import (
	"encoding/binary"
	"hash"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A datasetHash is the SHA-256 over the inputs of all requests. Each name and value is
// preceded by its length, so equal hashes mean equal requests in equal order.
type datasetHash struct{ hash.Hash }

func (d datasetHash) number(n uint64) {
	d.Write(binary.LittleEndian.AppendUint64(nil, n))
}

func (d datasetHash) part(b []byte) {
	d.number(uint64(len(b)))
	d.Write(b)
}

// add adds a request.
func (d datasetHash) add(in export.Fields) {
	d.number(uint64(len(in)))
	for _, f := range in {
		d.part([]byte(f.Name))
		d.part(f.Value.Data)
	}
}

// order adds an order other than Sequential.
func (d datasetHash) order(o workload.Order) {
	d.part([]byte(o.Kind.String()))
	d.number(o.Seed)
}
