//go:build !linux && !darwin

package main

// freeSpace is not known on this system.
func freeSpace(string) (uint64, bool) { return 0, false }
