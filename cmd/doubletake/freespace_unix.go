//go:build linux || darwin

package main

import "syscall"

// freeSpace is how many bytes a user may still write where a folder lies. It says false
// where that isn't known.
func freeSpace(dir string) (uint64, bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return stat.Bavail * uint64(stat.Bsize), true
}
