//go:build !race

package main

// sampled says that the race detector makes the whole table too slow.
const sampled = false
