// Package pack keeps many small blobs in few files, because a file system takes far
// longer to make a file than to append to one.
//
// A store is a folder of segments. A segment is a valid Zstandard file (zstd -dc prints
// what it holds): before each blob's frame stands a skippable frame with its key, its
// length, its time and checksums. A process appends to a segment of its own, which it
// locks, so that several processes may use one folder; each finds what the others
// appended. What a killed process left half-written ends the segment, and is cut off by
// whoever appends to it next.
package pack
