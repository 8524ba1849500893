//go:build !linux

package sockstamp

// ackedOn knows nothing: only Linux tells.
func ackedOn(uintptr) ackedBytes { return ackedBytes{} }
