// Package labels reports what people and rubric judges say of the outputs of a run: counts,
// how far people agree, how a judge compares with them, and rates with intervals where the
// sample is fit for them.
//
// Nothing here decides about a release, and a judge's word is advisory: every report ends
// by saying so.
package labels
