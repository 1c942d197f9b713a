// Package analysis finds the verdict of a run: the tables of pairs and items, the
// pair test, the gates, and which conversations a person should look at.
//
// Everything here is a pure function of what a run left on disk: the same run
// directory gives the same [Report], byte for byte, wherever it is read.
//
// Start with [Load], and look at the verdict and the gates of the [Report]. Package
// analysis/report prints it, analysis/stats has the arithmetic alone. README.md beside this
// file says how to read a report, and what its statistics say and don't.
package analysis
