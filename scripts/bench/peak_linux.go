package main

import (
	"os"
	"syscall"
)

// peakMemory is the most memory that an ended process held, in MB.
func peakMemory(state *os.ProcessState) float64 {
	if taken, ok := state.SysUsage().(*syscall.Rusage); ok {
		return float64(taken.Maxrss) / 1024 // in KB
	}
	return 0
}
