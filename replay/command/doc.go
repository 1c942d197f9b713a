// Package command holds what running a command takes: a process group of its own that
// is killed as one, and bounded output.
package command
