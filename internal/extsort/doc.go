// Package extsort sorts integers that may not fit in memory: an external merge sort.
//
//	memory := extsort.NewMemory(100<<20, "")
//	defer memory.Close()
//	s := memory.NewSorter()
//	s.Add(3, 1, 2)
//	err := s.Sorted(func(block []int64) { use(block) }) // 1, 2, 3
//
// The Sorters of a [Memory] share its bytes. A Sorter keeps its values in runs. When
// the bytes are spent, the Sorter that holds most of them moves its runs to a temporary file, in the
// order of Add. Sorted sorts all runs, merges them and passes the values on in
// ascending order, so a caller can sum them up without keeping them. Pick returns only the values
// at given places, and sorts no more values than it needs. InOrder reads the values in the order of Add.
//
// Values take 4 bytes each while all of them are from 0 to 2³²−1, and 8 bytes each from the first other value on. Sorted replaces a
// run in the file by the differences between successive values as uvarints, modulo 2⁶⁴. The
// first difference is to 0. Timing data of a million values then takes 1 to 3 bytes a value.
//
// A Memory and its Sorters are for one goroutine.
package extsort
