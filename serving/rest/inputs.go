package rest

import (
	"maps"
	"slices"

	"millrace/tfbridge"
)

// builders make the inputs of a request. There are few, so a map would be slower.
type builders []*builder

// add adds a builder of an input.
func (all *builders) add(name string, dt tfbridge.DataType) *builder {
	b := newBuilder(dt)
	b.name = name
	*all = append(*all, b)
	return b
}

// of returns the builder of an input, nil if there is none.
func (all builders) of(name string) *builder {
	for _, b := range all {
		if b.name == name {
			return b
		}
	}
	return nil
}

// names returns the names of the inputs, sorted.
func (all builders) names() []string {
	var names []string
	for _, b := range all {
		names = append(names, b.name)
	}
	slices.Sort(names)
	return names
}

// haveBytes reports whether all inputs are numbers or bools.
func (all builders) haveBytes() bool {
	return !slices.ContainsFunc(all, func(b *builder) bool { return b.dtype.Size() == 0 })
}

// tensors returns the inputs as tensors. The caller closes them, even if there is an
// error.
func (all builders) tensors() (map[string]*tfbridge.Tensor, error) {
	tensors := make(map[string]*tfbridge.Tensor, len(all))
	for _, b := range all {
		t, err := b.tensor()
		if err != nil {
			return tensors, inputError(b.name, err)
		}
		tensors[b.name] = t
	}
	return tensors, nil
}

// closeAll closes tensors.
func closeAll(tensors map[string]*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// inputs returns the inputs of the request.
func (r *request) inputs(infos map[string]tfbridge.TensorInfo, m *scratch) (builders, error) {
	instances, inputs := r.found.of("instances"), r.found.of("inputs")
	switch {
	case (instances == nil) == (inputs == nil):
		return nil, invalid(`give either "instances", by row, or "inputs", by column`)
	case inputs != nil:
		s := *inputs
		return columns(&s, infos)
	}
	s := *instances
	return rows(&s, infos, m)
}

// columns returns the tensors of "inputs": an object of them, or the only one.
func columns(s *scanner, infos map[string]tfbridge.TensorInfo) (all builders, err error) {
	if s.peek() != '{' || s.isB64() {
		name, err := only(infos, "inputs")
		if err != nil {
			return nil, err
		}
		b := all.add(name, infos[name].DType)
		if err := b.add(s, 0); err != nil {
			return nil, inputError(name, err)
		}
		return all, nil
	}
	err = s.object(func(name string) error {
		info, ok := infos[name]
		if !ok {
			_, err := s.skip() // TensorFlow Serving ignores unknown keys
			return err
		}
		if all.of(name) != nil {
			return s.errorf("'inputs' has input %q twice", name)
		}
		if err := all.add(name, info.DType).add(s, 0); err != nil {
			return inputError(name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range infos {
		if all.of(name) == nil {
			return nil, invalid("Missing named input: %s in 'inputs' object.", name)
		}
	}
	return all, nil
}

// rows returns the tensors of "instances": a list of objects with every input, or
// of values for the only one.
func rows(s *scanner, infos map[string]tfbridge.TensorInfo, m *scratch) (all builders, err error) {
	if s.peek() != '[' {
		return nil, s.errorf("Expecting 'instances' value to be an list/array")
	}
	look := *s
	look.at++
	objects := look.peek() == '{' && !look.isB64()
	if !objects {
		name, err := only(infos, "instances")
		if err != nil {
			return nil, err
		}
		b := m.builder(name, infos[name].DType)
		all = append(all, b)
		if err := b.add(s, 0); err != nil {
			return nil, inputError(name, err)
		}
		m.numbers = b.raw
		if b.shape[0] == 0 {
			return nil, s.errorf("Nothing to predict: 'instances' value is an empty array")
		}
		return all, nil
	}
	for name, info := range infos {
		all.add(name, info.DType).shape = []int64{-1}
	}
	n, err := s.list(func(i int) error { return row(s, i, all) })
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		b.shape[0] = int64(n)
	}
	return all, nil
}

// row takes one instance, an object.
func row(s *scanner, i int, all builders) error {
	if s.peek() != '{' || s.isB64() {
		return s.errorf("Expecting object but got %s at item %d of input list", s.shown(), i)
	}
	seen := map[string]bool{}
	err := s.object(func(name string) error {
		b := all.of(name)
		switch {
		case b == nil:
			return s.errorf("instance %d: there is no input %q", i, name)
		case seen[name]:
			return s.errorf("instance %d has input %q twice", i, name)
		}
		seen[name] = true
		if err := b.add(s, 1); err != nil {
			return inputError(name, err)
		}
		return nil
	})
	if err == nil && len(seen) < len(all) {
		err = s.errorf("instance %d: keys must be equal to: %q", i, all.names())
	}
	return err
}

// only returns the name of the only input. A request may leave it out.
func only(infos map[string]tfbridge.TensorInfo, what string) (string, error) {
	if len(infos) != 1 {
		return "", invalid("%s is a plain value/list, but expecting an object as the signature has the inputs %q", what, slices.Sorted(maps.Keys(infos)))
	}
	for name := range infos {
		return name, nil
	}
	return "", nil
}

// inputError returns an error about an input.
func inputError(name string, err error) error { return invalid("input %q: %w", name, err) }
