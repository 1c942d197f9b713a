package history

import "strings"

// Sparkline draws values as one character each, from the lowest mark at the smallest of
// them to the highest at the largest; a value that is not known is a question mark. Equal
// values are drawn in the middle, and all zero at the bottom. Without Unicode it uses
// ASCII alone.
func Sparkline(values []*float64, unicode bool) string {
	marks := []rune("_.-~=+*#")
	if unicode {
		marks = []rune("▁▂▃▄▅▆▇█")
	}
	low, high, known := span(values)
	var b strings.Builder
	for _, v := range values {
		switch {
		case v == nil:
			b.WriteByte('?')
		case !known || low == high && *v == 0:
			b.WriteRune(marks[0])
		case low == high:
			b.WriteRune(marks[len(marks)/2])
		default:
			share := (*v - low) / (high - low)
			b.WriteRune(marks[min(int(share*float64(len(marks))), len(marks)-1)])
		}
	}
	return b.String()
}

// span is the smallest and the largest value that is known.
func span(values []*float64) (low, high float64, known bool) {
	for _, v := range values {
		if v == nil {
			continue
		}
		if !known {
			low, high, known = *v, *v, true
		}
		low, high = min(low, *v), max(high, *v)
	}
	return low, high, known
}

// series is one value of all nights of a lineage.
type series struct {
	name   string
	values []*float64
	// write prints a value.
	write func(float64) string
	// gate says that it is a gate's value.
	gate bool
}

// series lists what is drawn of a lineage, the gates last.
func (l *Lineage) series() []series {
	of := func(name string, write func(float64) string, value func(*Night) *float64) series {
		s := series{name: name, write: write}
		for _, n := range l.Nights {
			s.values = append(s.values, value(n))
		}
		return s
	}
	number := func(v float64) *float64 { return &v }
	list := []series{
		of("losses", count, func(n *Night) *float64 { return number(float64(n.Losses)) }),
		of("gains", count, func(n *Night) *float64 { return number(float64(n.Gains)) }),
		of("contradictions", count, func(n *Night) *float64 { return number(float64(n.Contradictions)) }),
		of("noise floor", percent, func(n *Night) *float64 { return n.NoiseFloor }),
		of("cost", dollars, func(n *Night) *float64 { return n.CostUSD }),
		of("requests", count, func(n *Night) *float64 { return number(float64(n.Requests)) }),
	}
	for _, name := range l.GateNames() {
		s := of(name, plain, func(n *Night) *float64 {
			if g := n.Gate(name); g != nil {
				return g.Value
			}
			return nil
		})
		s.gate = true
		list = append(list, s)
	}
	return list
}
