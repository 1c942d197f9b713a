// Package cluster plays the episodes of a run on many machines, over a NATS server with
// JetStream that is the user's own.
//
// A leader publishes the run and one job an episode; workers take jobs, play them, and
// store what came of them. The stored results are the truth: they are looked at before a
// job is published and before it is played, so that a job that is delivered twice, to a
// leader or a worker that was killed meanwhile, is played once in effect. A run is played
// as long as its leader shows that it lives; else its jobs wait. Model answers are stored
// as they come, by all that determines them, and claimed before they are asked for, so that
// nothing is paid for twice.
package cluster
