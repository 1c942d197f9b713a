package plot

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// RetentionData is what the arms of a run kept of the items in force.
type RetentionData struct {
	Arms []ArmRetention
}

// ArmRetention is what one arm kept, by age of the item and by compaction.
type ArmRetention struct {
	Arm string
	// ByAge and ByGeneration are in their order, each name once.
	ByAge        []Kept
	ByGeneration []Kept
}

// Kept counts compaction decisions: of Scored ones, Kept items survived.
type Kept struct {
	Name         string
	Kept, Scored int
}

// maxClasses is how many classes a panel shows; what comes after is summed in the last.
const maxClasses = 7

// Retention draws the share of items that every arm kept, by age at the compaction and
// by which compaction of the session it was, with the counts below. There are no
// intervals: items of an adversarial set are no sample of anything. It is an error if a
// count is negative, or more was kept than was scored.
func Retention(d RetentionData) (*Figure, error) {
	const title = "Items kept"
	r := retention{title: title, arms: d.Arms[:min(len(d.Arms), maxSeries)], more: max(0, len(d.Arms)-maxSeries)}
	scored := 0
	for _, arm := range d.Arms {
		for _, k := range slices.Concat(arm.ByAge, arm.ByGeneration) {
			if k.Kept < 0 || k.Kept > k.Scored {
				return nil, fmt.Errorf("drawing the retention: arm %q, %q: %d kept of %d is impossible", clean(arm.Arm), clean(k.Name), k.Kept, k.Scored)
			}
			if k.Scored > 0 {
				scored++
			}
		}
	}
	if scored == 0 {
		return empty(title, "There is nothing to draw: no item in force was scored at a compaction."), nil
	}
	r.panels = [2]classes{
		newClasses("items kept, % (worse ↓), by age: turns from statement to compaction", r.arms, func(a ArmRetention) []Kept { return a.ByAge }),
		newClasses("items kept, % (worse ↓), by compaction of the session", r.arms, func(a ArmRetention) []Kept { return a.ByGeneration }),
	}
	return &Figure{title: title, description: r.describe(), height: whole(headHeight + 2*r.panelHeight()), paint: r.paint}, nil
}

type retention struct {
	title  string
	arms   []ArmRetention
	more   int // arms that are not drawn
	panels [2]classes
}

// classes are what a panel shows: names, and for each arm the counts by name.
type classes struct {
	title string
	names []string
	kept  [][]Kept // by arm, then by name
}

// newClasses puts the counts of all arms under the same names, in the order in which
// these first come.
func newClasses(title string, arms []ArmRetention, of func(ArmRetention) []Kept) classes {
	c := classes{title: title}
	column := map[string]int{}
	for _, arm := range arms {
		for _, k := range of(arm) {
			if _, known := column[k.Name]; known {
				continue
			}
			if column[k.Name] = min(len(column), maxClasses-1); len(c.names) < maxClasses {
				c.names = append(c.names, k.Name)
			}
		}
	}
	if len(column) > maxClasses {
		c.names[maxClasses-1] = clean(c.names[maxClasses-1]) + " and later"
	}
	for _, arm := range arms {
		row := make([]Kept, len(c.names))
		for _, k := range of(arm) {
			row[column[k.Name]].Kept += k.Kept
			row[column[k.Name]].Scored += k.Scored
		}
		c.kept = append(c.kept, row)
	}
	return c
}

func (r retention) note() string {
	note := "Of the items in force at a compaction, the share that survived it. Under each class: kept of scored. Counts of this set, not estimates of other conversations."
	if r.more > 0 {
		note = count(r.more, "more arm is", "more arms are") + " not drawn. " + note
	}
	return note
}

func (r retention) describe() string {
	var b strings.Builder
	b.WriteString(r.note())
	for _, c := range r.panels {
		fmt.Fprintf(&b, "\n%s", c.title)
		for i, arm := range r.arms {
			fmt.Fprintf(&b, "\n%s:", clean(arm.Arm))
			for j, k := range c.kept[i] {
				if j > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, " %s %s", clean(c.names[j]), k)
			}
		}
	}
	return b.String()
}

// String writes the counts, or that there are none.
func (k Kept) String() string {
	if k.Scored == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", k.Kept, k.Scored)
}

const (
	armWidth   vg.Length = 104
	plotHeight vg.Length = 110
	lineHeight vg.Length = 13
)

func (r retention) panelHeight() vg.Length {
	return 20 + plotHeight + 30 + lineHeight*vg.Length(len(r.arms)) + 14
}

func (r retention) paint(p *pen) {
	p.head(r.title, r.note())
	for i, c := range r.panels {
		top := headHeight + r.panelHeight()*vg.Length(i) + 20
		n := panel{y: axis{low: 0, high: 100, step: 25}, area: vg.Rectangle{
			Min: vg.Point{X: edge + armWidth + 22, Y: top}, Max: vg.Point{X: p.width - edge, Y: top + plotHeight},
		}}
		r.panel(p, n, c)
	}
}

func (r retention) panel(p *pen, n panel, c classes) {
	p.title(n, c.title)
	if len(c.names) == 0 {
		p.text(small, p.soft, edge, n.area.Min.Y+10, left, p.width-2*edge, "No item was scored.")
		return
	}
	n.drawY(p, number)
	slot := (n.area.Max.X - n.area.Min.X) / vg.Length(len(c.names))
	middle := func(class int) vg.Length { return n.area.Min.X + slot*(vg.Length(class)+0.5) }
	table := n.area.Max.Y + 26
	for j, name := range c.names {
		for k, line := range p.wrap(small, clean(name), slot-6, 2) {
			y := n.area.Max.Y + 10 + 11*vg.Length(k)
			p.text(small, p.ink, middle(j), y, centre, slot-6, line)
			table = max(table, y+15)
		}
	}
	for i := range r.arms {
		r.curve(p, n, i, c.kept[i], func(class int) vg.Length {
			// Side by side, as arms that kept the same would hide each other.
			return middle(class) + 9*(vg.Length(i)-vg.Length(len(r.arms)-1)/2)
		})
	}
	for i, arm := range r.arms {
		y := table + lineHeight*vg.Length(i)
		s, shape := p.series(i)
		p.line(s, vg.Point{X: edge, Y: y}, vg.Point{X: edge + 20, Y: y})
		p.mark(shape, s.ink, vg.Point{X: edge + 10, Y: y}, 3)
		p.text(small, p.ink, edge+25, y, left, armWidth-10, clean(arm.Arm))
		for j, k := range c.kept[i] {
			p.text(small, p.ink, middle(j), y, centre, slot-4, k.String())
		}
	}
}

// curve draws an arm, with gaps where nothing was scored.
func (r retention) curve(p *pen, n panel, arm int, kept []Kept, x func(int) vg.Length) {
	s, shape := p.series(arm)
	var run, all []vg.Point
	for j, k := range kept {
		if k.Scored == 0 {
			p.line(s, run...)
			run = nil
			continue
		}
		at := vg.Point{X: x(j), Y: n.atY(100 * float64(k.Kept) / float64(k.Scored))}
		run, all = append(run, at), append(all, at)
	}
	p.line(s, run...)
	for _, at := range all {
		p.mark(shape, s.ink, at, 3.5)
	}
}
