package review

// segment is one row of a view, or a fold of rows that were left out.
type segment[T any] struct {
	Row  *T    `json:"row,omitempty"`
	Fold *fold `json:"fold,omitempty"`
}

// fold is a stretch of rows that the page asks for when it is opened. Rows are counted
// by what they are.
type fold struct {
	From  int            `json:"from"`
	Count int            `json:"count"`
	Kinds map[string]int `json:"kinds"`
}

const (
	mostRows = 200 // rows that come unfolded with a view
	pageRows = 60  // rows that come when a fold is opened
)

// folded lays out rows: those that are worth seeing with one on either side, others in
// folds. Make builds a row when it is shown.
func folded[T any](count int, worth func(i int) bool, kind func(i int) string, make func(i int) T) []segment[T] {
	const besides, worthAFold = 1, 3
	shown := func(i int) bool {
		for k := max(0, i-besides); k <= min(count-1, i+besides); k++ {
			if worth(k) {
				return true
			}
		}
		return false
	}
	out := []segment[T]{}
	rows := 0
	for i := 0; i < count; {
		end := i
		for end < count && (rows >= mostRows || !shown(end)) {
			end++
		}
		if end-i >= worthAFold || rows >= mostRows && end > i {
			out = append(out, segment[T]{Fold: foldOf(i, end, kind)})
			i = end
			continue
		}
		for end = max(end, i+1); i < end; i++ {
			row := make(i)
			out = append(out, segment[T]{Row: &row})
			rows++
		}
	}
	return out
}

// opened lays out the first rows of a fold, and what is left of it.
func opened[T any](from, count, total int, kind func(i int) string, make func(i int) T) []segment[T] {
	from = min(max(0, from), total)
	end := min(total, from+max(0, min(count, total)))
	out := []segment[T]{}
	i := from
	for ; i < min(end, from+pageRows); i++ {
		row := make(i)
		out = append(out, segment[T]{Row: &row})
	}
	if i < end {
		out = append(out, segment[T]{Fold: foldOf(i, end, kind)})
	}
	return out
}

func foldOf(from, to int, kind func(i int) string) *fold {
	f := &fold{From: from, Count: to - from, Kinds: map[string]int{}}
	for i := from; i < to; i++ {
		f.Kinds[kind(i)]++
	}
	return f
}
