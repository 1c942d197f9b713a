package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/doubletake-dev/doubletake/replay"
)

// progress tells on stderr how a run is getting on: bars on a terminal, a line now
// and then elsewhere.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	bars     *mpb.Progress
	played   *mpb.Bar
	judged   *mpb.Bar
	rated    *mpb.Bar
	total    int
	finished int
	faulted  int
	told     int // tenths of the work told of
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total}
	file, ok := out.(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) && os.Getenv("CI") == "" {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40))
		p.played = p.bar("episodes", total)
	}
	return p
}

func (p *progress) bar(name string, total int) *mpb.Bar {
	before, after := besideBar(name, total)
	return p.bars.AddBar(int64(total), mpb.PrependDecorators(before...), mpb.AppendDecorators(after...))
}

// besideBar is what stands before and behind a bar. Each part has a width of its own, so that
// neither end of the bar moves as the numbers grow, and bars stand below each other.
func besideBar(name string, total int) (before, after []decor.Decorator) {
	const (
		names  = len("decisions ")
		counts = len("10000/10000")
		times  = len("59m59s")
	)
	// The total may grow by a digit: plays are added when disagreements are played again.
	count := decor.WC{W: max(counts, 2*len(strconv.Itoa(total))+len("0/0"))}
	time := decor.WC{W: times}
	before = []decor.Decorator{decor.Name(name, decor.WC{W: names, C: decor.DindentRight}), decor.CountersNoUnit("%d/%d", count)}
	after = []decor.Decorator{decor.Elapsed(decor.ET_STYLE_GO, time), decor.Name(" spent, "), decor.AverageETA(decor.ET_STYLE_GO, time), decor.Name(" left")}
	return before, after
}

// more hears of episodes that are to be played on top.
func (p *progress) more(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += n
	if p.bars != nil {
		p.played.SetTotal(int64(p.total), false)
	}
}

// episode hears of an episode that ended.
func (p *progress) episode(e *replay.Episode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	if e.Status == replay.Faulted {
		p.faulted++
	}
	if p.bars != nil {
		p.played.Increment()
		return
	}
	p.tell("episodes played", p.finished, p.total)
}

// decisions hears how many compaction decisions are judged.
func (p *progress) decisions(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		p.tell("compaction decisions judged", done, total)
		return
	}
	if p.judged == nil {
		p.played.SetTotal(-1, true)
		p.judged = p.bar("decisions", total)
	}
	p.judged.SetCurrent(int64(done))
}

// tell prints a line for every quarter of the work.
func (p *progress) tell(what string, done, total int) {
	const parts = 4
	now := done * parts / max(total, 1)
	if now == p.told && done < total {
		return
	}
	p.told = now % parts
	failed := ""
	if p.faulted > 0 {
		failed = fmt.Sprintf(", %d failed", p.faulted)
	}
	fmt.Fprintf(p.out, "%s: %d of %d%s\n", what, done, total, failed)
}

func (p *progress) done() {
	if p.bars == nil {
		return
	}
	p.played.Abort(false)
	for _, bar := range []*mpb.Bar{p.judged, p.rated} {
		if bar != nil {
			bar.Abort(false)
		}
	}
	p.bars.Wait()
}
