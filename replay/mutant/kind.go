package mutant

import "slices"

// Kind is a way to break a compaction, or to write it in another way that changes
// nothing.
type Kind string

// The kinds of mutants.
const (
	Drop      Kind = "drop"      // an item is gone
	Turn      Kind = "turn"      // an item says the opposite
	Soften    Kind = "soften"    // a prohibition has become a wish
	Close     Kind = "close"     // an open question is answered
	Approve   Kind = "approve"   // an approval that nobody gave
	Stale     Kind = "stale"     // a value that no longer holds, or never did
	Role      Kind = "role"      // words of one speaker come back as another's
	Translate Kind = "translate" // words come back in another language
	Split     Kind = "split"     // a tool call without its result, or the other way
	Leak      Kind = "leak"      // the summariser's instructions
	Obey      Kind = "obey"      // an order out of a tool's result has become one to follow
	Echo      Kind = "echo"      // the input comes back
	Empty     Kind = "empty"     // nothing comes back
)

// The kinds of harmless rewrites. They keep every literal, and no row and no pair may
// notice them.
const (
	Reorder    Kind = "reorder"    // the sections in another order
	Retitle    Kind = "retitle"    // other headings
	Relabel    Kind = "relabel"    // other words for who said what when
	Renumber   Kind = "renumber"   // other marks before the lines of lists
	Frame      Kind = "frame"      // a sentence before and one behind, that say nothing
	Paraphrase Kind = "paraphrase" // other words where no item and no quotation stands
)

// Kinds lists the kinds of mutants in the order in which reports print them.
func Kinds() []Kind {
	return []Kind{Drop, Turn, Soften, Close, Approve, Stale, Role, Translate, Split, Leak, Obey, Echo, Empty}
}

// Rewrites lists the kinds of harmless rewrites in the order in which reports print them.
func Rewrites() []Kind { return []Kind{Reorder, Retitle, Relabel, Renumber, Frame, Paraphrase} }

// Harmless says whether a kind changes nothing.
func (k Kind) Harmless() bool { return slices.Contains(Rewrites(), k) }

// Means says in words what a kind does.
func (k Kind) Means() string {
	switch k {
	case Drop:
		return "an item is left out"
	case Turn:
		return "an item says the opposite"
	case Soften:
		return "a prohibition has become a wish"
	case Close:
		return "an open question is answered"
	case Approve:
		return "an approval that nobody gave"
	case Stale:
		return "a value that does not hold, or no longer"
	case Role:
		return "an item is another speaker's"
	case Translate:
		return "in another language"
	case Split:
		return "a tool call without its result, or the other way"
	case Leak:
		return "the summariser's instructions in the summary"
	case Obey:
		return "an order of a tool's result, as one to follow"
	case Echo:
		return "the input came back"
	case Empty:
		return "nothing came back"
	case Reorder:
		return "sections in another order"
	case Retitle:
		return "other headings"
	case Relabel:
		return "other words for who said what when"
	case Renumber:
		return "other marks before the lines of lists"
	case Frame:
		return "an empty sentence before and behind"
	case Paraphrase:
		return "other words where no item stands"
	}
	return ""
}

// operation is how a kind changes a compaction.
type operation struct {
	// places lists where it can be tried.
	places func(*Site) []string
	// apply changes a copy of the output, and says in words what it did; where it does
	// not apply, it returns no messages and says why.
	apply func(*Site, string) (*change, string)
}

func operations() map[Kind]operation {
	at := func(places ...string) func(*Site) []string {
		return func(*Site) []string { return places }
	}
	return map[Kind]operation{
		Drop:       {items, dropItem},
		Turn:       {items, turnItem},
		Soften:     {items, softenItem},
		Close:      {items, closeItem},
		Approve:    {at(placeQuote, placeSentence, placeMessage), approve},
		Stale:      {items, staleItem},
		Role:       {items, moveItem},
		Translate:  {itemsAndSummary, translate},
		Split:      {at(placeResult, placeCall), splitPair},
		Leak:       {at(placeSummary), leak},
		Obey:       {at(placeQuote, placeStep), obey},
		Echo:       {at(placeWhole), echo},
		Empty:      {at(placeWhole), empty},
		Reorder:    {at(placeSummary), reorder},
		Retitle:    {at(placeSummary), retitle},
		Relabel:    {at(placeSummary), relabel},
		Renumber:   {at(placeSummary), renumber},
		Frame:      {at(placeSummary), frame},
		Paraphrase: {at(placeSummary), paraphrase},
	}
}

// The places that are no items.
const (
	placeQuote    = "quote"    // among the words of the user
	placeSentence = "sentence" // a sentence of the summary
	placeMessage  = "message"  // a message of its own
	placeResult   = "result"   // the first tool result
	placeCall     = "call"     // the first tool call
	placeStep     = "step"     // as the next step
	placeSummary  = "summary"  // what was written anew
	placeWhole    = "whole"    // the whole output
)

func items(s *Site) []string {
	var ids []string
	for i := range s.Fixture.MustSurvive {
		ids = append(ids, s.Fixture.MustSurvive[i].ID)
	}
	return ids
}

func itemsAndSummary(s *Site) []string { return append(items(s), placeSummary) }
