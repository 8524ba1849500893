package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// testPageHeaders are headers of our writer, and others byte by byte from the specifications
// of Parquet and of Thrift's compact protocol.
var testPageHeaders = []struct {
	name string
	b    []byte
	want pageHeader
}{
	{
		"data page", appendDataPageHeader(nil, 1000, 100, 20, encodingDelta, metadata.EncodedStatistics{HasNullCount: true, NullCount: 3, HasMin: true, Min: []byte("a"), HasMax: true, Max: []byte("b")}),
		pageHeader{kind: dataPage, compressed: 100, uncompressed: 1000, values: 20, encoding: encodingDelta, repLevels: encodingRLE, defLevels: encodingRLE},
	},
	{
		"dictionary", appendDictionaryPageHeader(nil, 70, 60, 5),
		pageHeader{kind: dictionaryPage, compressed: 60, uncompressed: 70, values: 5},
	},
	{
		"page of version 2, not compressed",
		[]byte{
			0x15, 6, 0x15, 40, 0x15, 40, // type 3, 20 bytes, 20 bytes
			0x15, 9, // checksum −5
			0x4c,                                                        // field 8: DataPageHeaderV2
			0x15, 14, 0x15, 2, 0x15, 6, 0x15, 0, 0x15, 4, 0x15, 8, 0x12, // 7 values, 1 null, 3 rows, PLAIN, 2 and 4 bytes of levels, false
			0, 0,
		},
		pageHeader{kind: dataPageV2, compressed: 20, uncompressed: 20, values: 7, repLevels: 4, defLevels: 2, stored: true},
	},
	{
		"unknown fields of every type",
		[]byte{
			0x15, 0, 0x15, 2, 0x15, 4,
			0x61, 0x12, 0x13, 1, 0x14, 2, 0x16, 3, // from field 9 on: true, false, byte, i16, i64
			0x17, 1, 2, 3, 4, 5, 6, 7, 8, // double
			0x18, 2, 'h', 'i', // binary
			0x19, 0x21, 1, 2, // list of 2 bools
			0x1a, 0xf3, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, // set of 16 bytes
			0x1b, 0, // empty map
			0x1b, 1, 0x58, 2, 1, 'x', // map of an i32 to a binary
			0x1c, 0x15, 2, 0, // struct
			0x1d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // UUID
			0x05, 0x90, 0x03, 8, // field 200, by its whole number: i32
			0,
		},
		pageHeader{kind: dataPage, compressed: 2, uncompressed: 1},
	},
}

func TestReadPageHeader(t *testing.T) {
	for _, tt := range testPageHeaders {
		t.Run(tt.name, func(t *testing.T) {
			got, n, err := readPageHeader(append(slices.Clone(tt.b), "page"...))
			if err != nil || n != len(tt.b) || got != tt.want {
				t.Errorf("%+v, %d bytes, %v; want %+v, %d bytes", got, n, err, tt.want, len(tt.b))
			}
			for cut := range tt.b {
				if _, _, err := readPageHeader(tt.b[:cut]); !errors.Is(err, errShortHeader) {
					t.Errorf("cut after %d bytes: %v", cut, err)
				}
			}
		})
	}
}

func TestReadPageHeaderErrors(t *testing.T) {
	for _, tt := range []struct{ name, b, want string }{
		{"unknown type", "\x1e", "a field of type 14"},
		{"depth", strings.Repeat("\x1c", 100), "nested too deeply"},
		{"depth of lists", "\x19" + strings.Repeat("\x19", 100), "nested too deeply"},
		{"large number", "\x15" + strings.Repeat("\xff", 11), "too large"},
		{"more than 32 bits", "\x15\x80\x80\x80\x80\x10", "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := readPageHeader([]byte(tt.b)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

func FuzzReadPageHeader(f *testing.F) {
	for _, tt := range testPageHeaders {
		f.Add(tt.b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := readPageHeader(b)
		if err != nil {
			return
		}
		again, m, err := readPageHeader(b[:n]) // the bytes after a header do not matter
		if err != nil || m != n || again != h {
			t.Errorf("%+v, %d bytes, then %+v, %d bytes, %v", h, n, again, m, err)
		}
	})
}

// pagesFile returns a column of pages with those headers' counts, and where it is.
func pagesFile(pages ...[]byte) (*bytes.Reader, *Chunk) {
	b := []byte("before")
	values := 0
	for _, p := range pages {
		b = appendDataPageHeader(b, len(p), len(p), 1, encodingPlain, metadata.EncodedStatistics{})
		b = append(b, p...)
		values++
	}
	return bytes.NewReader(b), &Chunk{offset: 6, Size: int64(len(b)) - 6, Values: int64(values), codec: compress.Codecs.Uncompressed}
}

// A page may have a header and a content of any length.
func TestPageReader(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), headerBytes)
	src, p := pagesFile([]byte("short"), long, nil, []byte("last"))
	var r pageReader
	if err := r.open(src, p, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]byte{[]byte("short"), long, nil, []byte("last")} {
		if more, err := r.next(); err != nil || !more || !bytes.Equal(r.data, want) {
			t.Fatalf("%v, %v, %d bytes; want %d", more, err, len(r.data), len(want))
		}
	}
	if more, err := r.next(); err != nil || more {
		t.Errorf("after the last page: %v, %v", more, err)
	}
	if err := r.open(src, p, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := r.next(); err != nil {
		t.Fatal(err)
	}
	var large *TooLargeError
	if _, err := r.next(); !errors.As(err, &large) {
		t.Errorf("a page above the limit: %v", err)
	}
	p.Size -= 2
	if err := r.open(src, p, 1<<20); err != nil {
		t.Fatal(err)
	}
	err := error(nil)
	for range 4 {
		if err == nil {
			_, err = r.next()
		}
	}
	if !errors.Is(err, errPage) {
		t.Errorf("a page beyond the end of its column: %v", err)
	}
}

// A frugal leaf returns the values of plain integers, with their signs.
func TestPackedIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, kind := range []parquet.Type{parquet.Types.Int32, parquet.Types.Int64} {
		for _, n := range []int{1, 2, deltaBlock, 8*deltaBlock + 1, 5000} {
			var values []int64
			for i := range n {
				v := int64(i % 100)
				switch rng.IntN(20) {
				case 0:
					v = int64(rng.Uint64())
				case 1:
					v = []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, -1}[rng.IntN(5)]
				}
				if kind == parquet.Types.Int32 {
					v = int64(int32(v))
				}
				values = append(values, v)
			}
			var b []byte
			for _, v := range values {
				if kind == parquet.Types.Int32 {
					b = binary.LittleEndian.AppendUint32(b, uint32(v))
				} else {
					b = binary.LittleEndian.AppendUint64(b, uint64(v))
				}
			}
			header := appendDataPageHeader(nil, len(b), len(b), n, encodingPlain, metadata.EncodedStatistics{})
			file := slices.Concat(header, b)
			for _, frugal := range []bool{false, true} {
				l := NewLeaf(kind, Shape{}, true)
				l.Frugal = frugal
				if err := l.Open(bytes.NewReader(file), &Chunk{Size: int64(len(file)), Values: int64(n), codec: compress.Codecs.Uncompressed}, 1<<20); err != nil {
					t.Fatal(err)
				}
				l.UseMemory(0)
				if err := l.ReadRows(n, NewBudget(1<<30)); err != nil {
					t.Fatal(err)
				}
				for i, want := range values {
					if got := int64(l.V.Num(i)); got != want {
						t.Fatalf("%s, value %d of %d, frugal %v: %d, want %d", kind, i, n, frugal, got, want)
					}
				}
				if packed := l.pages.header.encoding == encodingDelta; packed != frugal {
					t.Errorf("%s, %d values: packed is %v, frugal %v", kind, n, packed, frugal)
				}
			}
		}
	}
}

// catchPanic returns an error for a panic of do, as readers of untrusted files do: some decoders of Arrow panic.
func catchPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}

// A page that holds less or more than its header says is an error, and takes no memory for more.
func TestPageSizes(t *testing.T) {
	content := bytes.Repeat([]byte("12345678"), 1<<14)
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd} {
		b := slices.Clone(content)
		if codec != compress.Codecs.Uncompressed {
			c, err := compress.GetCodec(codec)
			if err != nil {
				t.Fatal(err)
			}
			b = c.Encode(nil, content)
		}
		for _, size := range []int{0, 100, len(content) - 1, len(content), len(content) + 1} {
			file := appendDataPageHeader(nil, size, len(b), 1, encodingPlain, metadata.EncodedStatistics{})
			file = append(file, b...)
			var r pageReader
			r.data = bytes.Repeat([]byte("stale"), len(content))
			if err := r.open(bytes.NewReader(file), &Chunk{Size: int64(len(file)), Values: 1, codec: codec}, 1<<30); err != nil {
				t.Fatal(err)
			}
			err := catchPanic(func() error { _, err := r.next(); return err })
			switch {
			case size == len(content):
				if err != nil || !bytes.Equal(r.data, content) {
					t.Errorf("%s: %v, %d bytes", codec, err, len(r.data))
				}
			case size < len(content) && (codec == compress.Codecs.Gzip || codec == compress.Codecs.Brotli):
				if err == nil && !bytes.Equal(r.data, content[:size]) { // the decoder stops there
					t.Errorf("%s in %d bytes: another content", codec, size)
				}
			case err == nil:
				t.Errorf("%s in %d bytes: no error", codec, size)
			}
		}
	}
}

// A content that is far larger than its header says takes no memory.
func TestPageBombs(t *testing.T) {
	bomb := make([]byte, 48<<20)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		codec compress.Compression
		b     []byte
	}{
		{compress.Codecs.Zstd, z.EncodeAll(bomb, nil)},
		{compress.Codecs.Snappy, append(binary.AppendUvarint(nil, math.MaxUint32), "broken"...)},
	} {
		file := append(appendDataPageHeader(nil, 100, len(tt.b), 1, encodingPlain, metadata.EncodedStatistics{}), tt.b...)
		var r pageReader
		if err := r.open(bytes.NewReader(file), &Chunk{Size: int64(len(file)), Values: 1, codec: tt.codec}, 1<<30); err != nil {
			t.Fatal(err)
		}
		testenv.BoundMemory(t, len(file), 24<<20, 1, func() {
			if err := catchPanic(func() error { _, err := r.next(); return err }); err == nil {
				t.Errorf("%s: no error", tt.codec)
			}
		})
	}
}

// Levels beyond the page are an error also if the sum of their sizes overflows.
func TestPageLevels(t *testing.T) {
	for _, levels := range [][2]int{{-1, 0}, {0, -1}, {11, 0}, {0, 11}, {6, 5}, {math.MaxInt, math.MaxInt}, {math.MaxInt, 1}} {
		r := pageReader{header: pageHeader{kind: dataPageV2, uncompressed: 10, repLevels: levels[0], defLevels: levels[1], stored: true}}
		if err := r.decompress(make([]byte, 10)); !errors.Is(err, errPage) {
			t.Errorf("levels of %d bytes: %v", levels, err)
		}
	}
}
