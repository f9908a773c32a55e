package spec

import (
	"slices"

	"millrace/internal/base/figures"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// maxContext is how many frames a row may have on one side.
const maxContext = 1_000_000

// sequences finds the primary tensors that have a time axis.
func (a *ChunkedArgs) sequences(c *checker) {
	if a.Has("sequence_features") {
		a.namedSequences(c)
		return
	}
	isList := func(t *tensorState) bool { return t.shaped && len(t.Shape) > 0 && t.Shape[0] < 0 }
	hasAxis := func(t *tensorState) bool { return t.shaped && len(t.Shape) > 0 }
	rule := hasAxis
	if slices.ContainsFunc(c.tensors, isList) {
		rule = isList
	}
	known, found := len(c.tensors) > 0, false
	for _, t := range c.tensors {
		t.sequence = rule(t)
		found = found || t.sequence
		known = known && t.shaped
	}
	if known && !found {
		c.inConfig.Report(a.Key("primary_features"), "no feature is a sequence: none has a first axis")
	}
}

// namedSequences selects the sequences that the config names.
func (a *ChunkedArgs) namedSequences(c *checker) {
	if a.Bad("sequence_features") {
		return
	}
	for i, name := range a.SequenceFeatures {
		at := a.Key("sequence_features").Elem(i)
		t := c.tensor(at, name)
		switch {
		case t == nil:
		case slices.Contains(a.SequenceFeatures[:i], name):
			c.inConfig.Report(at, "%s is named twice", decl.Quote(name))
		case t.shaped && len(t.Shape) == 0:
			c.inConfig.Report(at, "%s is a scalar, which has no time axis", decl.Quote(name))
		default:
			t.sequence = t.shaped
		}
	}
}

// rows gives the sequences the shapes that they have in rows, and adds the automatic
// outputs.
func (a *ChunkedArgs) rows(c *checker) {
	a.equalLengths(c)
	k := c.spec.Chunks
	for _, t := range c.tensors {
		if t.sequence {
			k.Sequences = append(k.Sequences, Sequence{Tensor: t.Name})
		}
	}
	a.context(c)
	for _, s := range k.Sequences {
		t := c.byName[s.Tensor]
		if !t.shaped {
			continue
		}
		t.Shape = slices.Clone(t.Shape)
		if k.Cut.Whole() && t.Shape[0] >= 0 {
			t.Shape[0] += s.Left + s.Right
		} else {
			t.Shape[0] = -1
		}
	}
	a.outputs(c)
}

// equalLengths reports aligned sequences whose lengths are known to differ.
func (a *ChunkedArgs) equalLengths(c *checker) {
	if !c.spec.Chunks.Aligned {
		return
	}
	var first *tensorState
	for _, t := range c.tensors {
		switch {
		case !t.sequence || !t.shaped || t.Shape[0] < 0:
		case first == nil:
			first = t
		case t.Shape[0] != first.Shape[0]:
			d := c.inConfig.Report(t.at, "has %s, and %s has %d; aligned sequences have one length",
				figures.Plural(t.Shape[0], "frame", "frames"), decl.Quote(first.Name), first.Shape[0])
			d.Hint = "name the sequences in sequence_features"
		}
	}
}

// context reads how many frames are added to the rows of each sequence.
func (a *ChunkedArgs) context(c *checker) {
	all := c.spec.Chunks.Sequences
	if a.Has("context_window") && a.Has("context_size") {
		c.inConfig.Report(a.Key("context_size"), "excludes context_window, which says the same in another way")
		return
	}
	if a.Has("context_size") && !a.Bad("context_size") && len(all) > 0 {
		all[0].Left, all[0].Right = a.ContextSize/2, a.ContextSize-a.ContextSize/2
	}
	at := a.Key("context_window")
	if !a.Has("context_window") || a.Bad("context_window") {
		return
	}
	switch at.Kind() {
	case jsonpos.Number:
		if n, ok := a.frames(c, at); ok && len(all) > 0 {
			all[0].Left, all[0].Right = n, n
		}
	case jsonpos.Object:
		a.contextBySequence(c, at)
	default:
		c.inConfig.Report(at, "must be an integer or an object, got %s", decl.Show(at))
	}
}

// contextBySequence reads an object with the context of each sequence.
func (a *ChunkedArgs) contextBySequence(c *checker, at *jsonpos.Node) {
	seen := map[string]bool{}
	for key, value := range at.Members() {
		name := key.Name()
		left, right, ok := a.sides(c, value)
		t := c.tensor(key, name)
		switch {
		case t == nil || !ok:
		case seen[name]:
			c.inConfig.Report(key, "repeated key %s", decl.Quote(name))
		case !t.sequence && t.shaped:
			c.inConfig.Report(key, "%s is no sequence: only frames along a time axis have a context", decl.Quote(name))
		default:
			all := c.spec.Chunks.Sequences
			if i := slices.IndexFunc(all, func(s Sequence) bool { return s.Tensor == name }); i >= 0 {
				all[i].Left, all[i].Right = left, right
			}
		}
		seen[name] = true
	}
}

// sides reads the context of one sequence: an integer, or one for each side.
func (a *ChunkedArgs) sides(c *checker, at *jsonpos.Node) (left, right int64, ok bool) {
	if at.Kind() != jsonpos.List {
		left, ok = a.frames(c, at)
		return left, left, ok
	}
	if at.Len() != 2 {
		c.inConfig.Report(at, "must be an integer or [left, right], got %d elements", at.Len())
		return 0, 0, false
	}
	left, ok = a.frames(c, at.Elem(0))
	right, also := a.frames(c, at.Elem(1))
	return left, right, ok && also
}

// frames reads a number of frames of context.
func (a *ChunkedArgs) frames(c *checker, at *jsonpos.Node) (int64, bool) {
	n, ok := decl.Integer(at)
	if !ok {
		c.inConfig.Report(at, "must be an integer, got %s", decl.Show(at))
		return 0, false
	}
	low, high := int64(0), int64(maxContext)
	return n, c.inConfig.InRange(at, n, decl.Range{Min: &low, Limit: &high})
}
