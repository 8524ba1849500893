// Package packtest fills structs with values that differ from field to field, to test that packing keeps
// each of them.
package packtest
