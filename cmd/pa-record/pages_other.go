//go:build !linux

package main

func dropProgramPages() {}
