// Package history puts runs beside each other: the nights of a folder over time, lineage
// by lineage, and any two runs decision by decision. It gates nothing.
//
// Start with [Read], for a folder of runs.
package history
