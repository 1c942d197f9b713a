// Package labelling lets people and rubric judges label a run elsewhere: it writes the
// outputs of a run as blinded cases, reads the ratings that come back, and keeps what
// would unblind them in the run directory.
//
// Cases are labelled in two stages: [Blind], in which nothing tells the arms apart, and
// [Grounded], with all that the producer saw.
//
// A case is what one episode of a pair said and did after the fork, cut into claims, with
// the texts that its claims can be held against. It holds no verdict and no rationale, and
// names neither arm nor compactor, model, fixture or path. README.md documents the files.
//
// Nothing here asks a model.
package labelling
