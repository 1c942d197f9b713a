package report

import (
	"cmp"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// agreed is the rank of a pair that is no disagreement, behind all that are.
const agreed = 4

// rank orders disagreements: what blocks by itself, losses with an item turned around,
// other losses, gains.
func rank(critical bool, cell pairing.Cell, items []pairing.ItemFate) int {
	switch {
	case critical:
		return 0
	case cell == pairing.Loss && slices.ContainsFunc(items, func(f pairing.ItemFate) bool { return f.Second == replay.Contradicted }):
		return 1
	case cell == pairing.Loss:
		return 2
	}
	return 3
}

// worstFirst puts what blocks by itself first and gains last.
func worstFirst(list []analysis.Disagreement) []analysis.Disagreement {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b analysis.Disagreement) int {
		return cmp.Compare(rank(a.Critical, a.Cell, a.Items), rank(b.Critical, b.Cell, b.Items))
	})
	return sorted
}

// criticalLoss is a loss that blocks by itself.
const criticalLoss = "critical loss"

// cellWord is the cell of a disagreement, and says of a loss that it blocks by itself.
func cellWord(critical bool, cell pairing.Cell) string {
	if critical && cell == pairing.Loss {
		return criticalLoss
	}
	return string(cell)
}

// ranked is a pair with its entry in the queue, if it has one.
type ranked struct {
	pair  *pairing.Pair
	entry *pairing.Entry
	rank  int
	word  string
}

// rankedPairs are the pairs of a comparison in the order of [worstFirst], those that
// agree or have no outcome last.
func rankedPairs(n *analysis.Night, c analysis.Compared) []ranked {
	queued := map[fixtures.Hash]*pairing.Entry{}
	for i := range c.Queue {
		queued[c.Queue[i].Fixture] = &c.Queue[i]
	}
	list := make([]ranked, len(c.Pairs))
	for i := range c.Pairs {
		p := &c.Pairs[i]
		list[i] = ranked{pair: p, rank: agreed, word: string(p.Cell)}
		if e := queued[p.Fixture]; e != nil {
			critical := n.IsCritical(&e.Pair)
			list[i].entry, list[i].rank, list[i].word = e, rank(critical, e.Cell, e.Items), cellWord(critical, e.Cell)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	return list
}
