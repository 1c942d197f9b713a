// Package report prints what a run says: as text for a terminal, as JSON for
// programs, as Markdown for a pull request.
package report
