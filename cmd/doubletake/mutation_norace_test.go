//go:build !race

package main

// raced says that the race detector is in, which makes everything slow.
const raced = false
