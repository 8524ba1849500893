package stat

import "github.com/pa-tools/pa/internal/spool"

// A Store bounds the bytes that the blocks of its Lists take in memory. The values of a List that are no block
// yet take 8 bytes each besides: at most 1023 values, and no more than 64 or half of the List. Sorting, and Pick,
// take up to 20 MiB more while they run.
//
// A Store may be used by several goroutines, a List by one.
type Store struct{ blocks *spool.Blocks }

// NewStore returns a Store that keeps maxBytes of blocks in memory; 0 keeps all blocks in
// memory. The temporary file is created in dir when it is needed; "" is the system's folder
// for temporary files.
func NewStore(maxBytes int64, dir string) *Store {
	return &Store{spool.NewBlocks(maxBytes, dir, "values")}
}

// NewList returns a List without values.
func (s *Store) NewList(kind Kind) *List { return &List{store: s, kind: kind} }

// Full returns the error of the temporary file that keeps values in memory beyond the
// bound; nil if there is none.
func (s *Store) Full() error { return s.blocks.Full() }

// Err returns the first error of reading values back from the temporary file; nil if there
// is none. After an error, statistics of the Lists are wrong.
func (s *Store) Err() error { return s.blocks.Err() }

// Close removes the temporary file. The Lists must not be used any more.
func (s *Store) Close() error { return s.blocks.Close() }
