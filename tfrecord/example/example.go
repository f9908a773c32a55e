package example

// Features are the features of an Example, or of a SequenceExample's context,
// by name. They are found but not decoded.
type Features struct{ entries []entry }

// entry is one entry of a map of features or feature lists.
type entry struct {
	name  []byte
	value message
}

// Parse finds the features of an Example.
func Parse(record []byte) (*Features, error) {
	m := message{record: record, end: len(record)}
	var f Features
	for m.rest() > 0 {
		if m.record[m.pos] != tagBytes1 {
			if err := m.skip(); err != nil {
				return nil, err
			}
			continue
		}
		if err := f.read(&m, tagBytes1); err != nil {
			return nil, err
		}
	}
	return &f, nil
}

// read adds the entries of the map of features in the next field.
func (f *Features) read(m *message, tag byte) error {
	entries, err := m.field(tag, "a map of features")
	if err != nil {
		return err
	}
	for entries.rest() > 0 {
		one, err := entries.field(tagBytes1, "a feature")
		if err != nil {
			return err
		}
		e, err := readEntry(one)
		if err != nil {
			return err
		}
		f.entries = append(f.entries, e)
	}
	return nil
}

// readEntry reads an entry: a key and a value, each once, in either order.
func readEntry(m message) (entry, error) {
	var e entry
	start := m.pos
	var key, value bool
	for m.rest() > 0 {
		at, tag := m.pos, m.record[m.pos]
		if tag != tagBytes1 && tag != tagBytes2 {
			return e, m.fault(at, "tag %#02x where a feature's name or value begins", tag)
		}
		field, err := m.field(tag, "a name or value")
		if err != nil {
			return e, err
		}
		if tag == tagBytes1 && !key {
			e.name, key = field.bytes(), true
		} else if tag == tagBytes2 && !value {
			e.value, value = field, true
		} else {
			return e, m.fault(at, "a feature's name or value is given twice")
		}
	}
	if !key || !value {
		return e, m.fault(start, "a feature without a name or value")
	}
	return e, nil
}

// Names returns the names in the order of their first appearance.
func (f *Features) Names() []string { return names(f.entries) }

func names(entries []entry) []string {
	seen := make(map[string]bool, len(entries))
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		if !seen[string(e.name)] {
			name := string(e.name)
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// Has reports whether there is a feature of this name, with or without values.
func (f *Features) Has(name string) bool { return count(f.entries, name) > 0 }

// Count returns how many features have this name. Of several the last wins.
func (f *Features) Count(name string) int { return count(f.entries, name) }

func count(entries []entry, name string) int {
	n := 0
	for _, e := range entries {
		if string(e.name) == name {
			n++
		}
	}
	return n
}

// Raw returns a feature, checked and counted. It is of kind None if there is
// no feature of this name, or one without a list.
func (f *Features) Raw(name string) (Raw, error) {
	var last Raw
	found := false
	for i := len(f.entries) - 1; i >= 0; i-- {
		e := &f.entries[i]
		if string(e.name) != name {
			continue
		}
		r, err := readFeature(e.value)
		if err != nil {
			return Raw{}, inFeature(err, e.name)
		}
		if !found {
			last, found = r, true
		} else if last.kind == None && r.kind != None {
			m := e.value
			err := m.fault(m.pos, "a feature is given again without a list; TensorFlow and protobuf differ on which counts")
			return Raw{}, inFeature(err, e.name)
		}
	}
	return last, nil
}

// Get returns a feature, decoded. It is of kind None if there is no feature of
// this name, or one without a list.
func (f *Features) Get(name string) (Feature, error) {
	r, err := f.Raw(name)
	if err != nil {
		return Feature{}, err
	}
	return r.Decode(), nil
}

// Decode returns all features, each name once, in the order of Names.
func (f *Features) Decode() ([]Named, error) {
	unique, err := f.last()
	if err != nil {
		return nil, err
	}
	list := make([]Named, 0, len(f.entries))
	for _, name := range f.Names() {
		list = append(list, Named{name, unique[name].Decode()})
	}
	return list, nil
}

// last returns the features that count by name. It reads each entry once, also
// where there are very many.
func (f *Features) last() (map[string]Raw, error) {
	byName := make(map[string]*Features, len(f.entries))
	for _, e := range f.entries {
		g := byName[string(e.name)]
		if g == nil {
			g = &Features{}
			byName[string(e.name)] = g
		}
		g.entries = append(g.entries, e)
	}
	found := make(map[string]Raw, len(byName))
	for name, g := range byName {
		r, err := g.Raw(name)
		if err != nil {
			return nil, err
		}
		found[name] = r
	}
	return found, nil
}
