package mutant

const notThere = "the output does not hold the item word for word"

func dropItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	out := s.rewrite(item, "")
	if out == nil {
		return nil, notThere
	}
	return &change{out, "left out: " + item.Literal}, ""
}

// put replaces an item by a text.
func (s *Site) put(id, text string) (*change, string) {
	out := s.rewrite(s.Fixture.Item(id), text)
	if out == nil {
		return nil, notThere
	}
	return &change{out, "in its place: " + text}, ""
}
