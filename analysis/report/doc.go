// Package report prints what a run says: as text for a terminal, as JSON for
// programs, as Markdown for a pull request, as a page to read a night in.
//
// Start with [Text] and what [analysis.Load] returns. The same report gives the same
// bytes. Texts of recordings and models are cleaned ([Clean], [Printable]) before they reach
// a terminal, and escaped in pages.
package report
