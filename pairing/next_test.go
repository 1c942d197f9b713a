package pairing

import "testing"

func TestNext(t *testing.T) {
	by := func(names ...string) []Verdict {
		var list []Verdict
		for _, name := range names {
			list = append(list, Verdict{By: name})
		}
		return list
	}
	queue := []Standing{
		{Pair: "p", State: Decided, Verdicts: by("maria")},
		{Pair: "q", State: Undecided},
		{Pair: "r", State: Disputed, Verdicts: by("maria", "lee")},
		{Pair: "s", State: Decided, Verdicts: by("lee")},
		{Pair: "t", State: Undecided},
	}
	assigned := map[string][]string{"p": {"maria"}, "q": {"maria"}, "r": {"lee"}, "s": {"lee", "jon"}, "t": {"jon"}}
	tests := []struct {
		name     string
		assigned map[string][]string
		reviewer string
		from     int
		only     string // the pair that is kept; empty keeps all
		want     int
	}{
		{"the first undecided", nil, "jon", 0, "", 1},
		{"a dispute is open to a third", nil, "jon", 2, "", 2},
		{"not to who takes part in it", nil, "maria", 2, "", 4},
		{"round once", nil, "lee", 3, "", 4},
		{"what is assigned comes first, though others decided it", assigned, "jon", 0, "", 3},
		{"in the order of the queue", assigned, "jon", 4, "", 4},
		{"then what is nobody's verdict yet", assigned, "maria", 0, "t", 4},
		{"nothing is left", nil, "jon", 0, "s", -1},
	}
	for _, tt := range tests {
		keep := func(i int) bool { return tt.only == "" || queue[i].Pair == tt.only }
		if got := Next(queue, tt.assigned, tt.reviewer, tt.from, keep); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := Next(nil, nil, "jon", 0, func(int) bool { return true }); got != -1 {
		t.Errorf("an empty queue: %d", got)
	}
}
