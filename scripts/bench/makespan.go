package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// makespan puts the time of a night beside the ideal one, in which every slot is busy to
// the end: the sum of the answer times over the concurrency.
func (b *bench) makespan(ctx context.Context) (err error) {
	const concurrency = 8
	spec, mean := setSpec{fixtures: 200, exchanges: 8, bytes: 8 << 10}, 500*time.Millisecond
	if b.small {
		mean = 100 * time.Millisecond
	}
	set, err := b.made(spec)
	if err != nil {
		return err
	}
	server, err := startMock(ctx, "--latency", mean.String(), "--uneven")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	b.heading(fmt.Sprintf("Makespan: %d fixtures under 3 arms, uneven answers of %s on average, concurrency %d", spec.fixtures, mean, concurrency),
		"requests", "sum of answers, s", "longest, s", "ideal s", "wall s", "ideal over wall")
	var shares []usage
	var seen mockStats
	for range b.runs {
		u, err := b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: concurrency, incumbent: true}, 3*spec.fixtures)
		if err != nil {
			return err
		}
		if seen, err = server.stats(); err != nil {
			return err
		}
		shares = append(shares, u)
	}
	wall := median(shares, func(u usage) float64 { return u.wall })
	ideal := seen.AnswerSeconds / concurrency
	b.row(fmt.Sprint(seen.Requests), seconds(seen.AnswerSeconds), seconds(seen.Longest), seconds(ideal), seconds(wall), times(ideal, wall))
	b.target(ideal/wall >= 0.97, "ideal makespan over wall, 200 fixtures x 3 arms", "at least 0.97", "%.3f", ideal/wall)
	return nil
}
