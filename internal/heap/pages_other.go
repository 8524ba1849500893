//go:build !linux

package heap

func dropProgramPages() {}
