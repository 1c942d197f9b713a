package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// growth plays sets of more and more fixtures, and of longer and longer transcripts.
func (b *bench) growth(ctx context.Context) (err error) {
	server, err := startMock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	b.heading("Growth: whole nights at 0 ms, one run each", "fixtures", "transcript", "transcripts, MB", "wall s", "CPU s", "CPU s a fixture", "CPU s an MB", "peak MB")
	specs := []setSpec{
		{fixtures: 40, exchanges: 40, bytes: 20 << 10}, {fixtures: 400, exchanges: 40, bytes: 20 << 10},
		{fixtures: 8, exchanges: 50, bytes: 100 << 10}, {fixtures: 8, exchanges: 500, bytes: 1 << 20},
	}
	if !b.small {
		specs = append(specs, setSpec{fixtures: 4000, exchanges: 40, bytes: 20 << 10},
			setSpec{fixtures: 8, exchanges: 5000, bytes: 10 << 20}, setSpec{fixtures: 10_000, exchanges: 100, bytes: 200 << 10})
	}
	for _, spec := range specs {
		set, err := b.made(spec)
		if err != nil {
			return err
		}
		u, err := b.night.play(ctx, nightPlan{set: set, url: server.url(), concurrency: 8}, 2*spec.fixtures)
		if err != nil {
			return err
		}
		mb := float64(spec.fixtures) * float64(spec.bytes) / (1 << 20)
		b.row(fmt.Sprint(spec.fixtures), fmt.Sprintf("%d KB", spec.bytes>>10), megabytes(mb), seconds(u.wall), seconds(u.cpu),
			fmt.Sprintf("%.4f", u.cpu/float64(spec.fixtures)), fmt.Sprintf("%.3f", u.cpu/mb), megabytes(u.rss))
		if spec.fixtures == 10_000 {
			b.target(u.rss < 300, "memory of 10,000 fixtures of 200 KB", "under 300 MB", "%.0f MB", u.rss)
		}
		if err := os.RemoveAll(set); err != nil {
			return err
		}
	}
	return nil
}
