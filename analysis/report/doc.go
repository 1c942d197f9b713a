// Package report prints what a run says: as text for a terminal, as JSON for
// programs, as Markdown for a pull request, as a page to read a night in.
package report
