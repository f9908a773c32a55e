package example

// Features are the features of an Example, or of a SequenceExample's context,
// by name. They are found but not decoded.
type Features struct {
	record  []byte
	entries []entry

	sequence bool // the record is parsed as a SequenceExample
}

// entry is one entry of a map of features or feature lists: the location of its name
// and value in the record.
type entry struct{ name, value span }

type span struct{ start, end int }

func (f *Features) name(i int) []byte {
	at := f.entries[i].name
	return f.record[at.start:at.end]
}

func (f *Features) value(i int) message {
	at := f.entries[i].value
	return message{record: f.record, pos: at.start, end: at.end, sequence: f.sequence}
}

// Parse finds the features of an Example.
func Parse(record []byte) (*Features, error) {
	var f Features
	if err := f.Reset(record); err != nil {
		return nil, err
	}
	return &f, nil
}

// Reset makes f the features of another Example, in the memory it has. After
// an error it has none.
func (f *Features) Reset(record []byte) error {
	f.record, f.entries, f.sequence = record, f.entries[:0], false
	m := message{record: record, end: len(record)}
	for m.rest() > 0 {
		var err error
		if m.record[m.pos] == tagBytes1 {
			err = f.read(&m, tagBytes1)
		} else {
			err = m.skip()
		}
		if err != nil {
			f.entries = f.entries[:0]
			return err
		}
	}
	return nil
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
			e.name, key = field.span(), true
		} else if tag == tagBytes2 && !value {
			e.value, value = field.span(), true
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
func (f *Features) Names() []string {
	names, _ := f.index()
	return names
}

// index returns the names in the order of their first appearance, and for each its last
// entry, which is the valid one.
func (f *Features) index() (names []string, last map[string]int) {
	last = make(map[string]int)
	for i := range f.entries {
		name := f.name(i)
		if _, ok := last[string(name)]; !ok {
			names = append(names, string(name))
		}
		last[string(name)] = i
	}
	return names, last
}

// Has reports whether there is a feature of this name, with or without values.
func (f *Features) Has(name string) bool { return f.Count(name) > 0 }

// Count returns the number of features with this name. If there are several the last
// one wins.
func (f *Features) Count(name string) int {
	n := 0
	for i := range f.entries {
		if string(f.name(i)) == name {
			n++
		}
	}
	return n
}

// Duplicate returns the first repeated name. It returns false if all names are
// different.
func (f *Features) Duplicate() (name string, found bool) {
	seen := make(map[string]bool, len(f.entries))
	for i := range f.entries {
		name := string(f.name(i))
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

// Raw returns a feature, checked and counted. It is of kind None if there is
// no feature of this name, or one without a list.
func (f *Features) Raw(name string) (Raw, error) {
	last := -1
	for i := len(f.entries) - 1; i >= 0; i-- {
		if string(f.name(i)) != name {
			continue
		}
		if last < 0 {
			last = i
		} else if err := f.hides(last, i); err != nil {
			return Raw{}, inFeature(err, name)
		}
	}
	if last < 0 {
		return Raw{}, nil
	}
	return f.readAt(last)
}

// readAt checks and counts the feature of an entry.
func (f *Features) readAt(i int) (Raw, error) {
	r, err := readFeature(f.value(i))
	if err != nil {
		return Raw{}, inFeature(err, string(f.name(i)))
	}
	return r, nil
}

// hides reports an entry that the last one with its name does not simply replace:
// TensorFlow looks at its kind, and uses the earlier entry if the last one has none.
func (f *Features) hides(last, i int) error {
	m := f.value(i)
	if m.rest() == 0 {
		return nil
	}
	if _, err := m.kind(); err != nil {
		return err
	}
	if hidden := f.value(last); hidden.rest() == 0 {
		return m.fault(m.pos, "this feature is given again without a list; TensorFlow and protobuf differ on which counts")
	}
	return nil
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
	names, last := f.index()
	for i := range f.entries {
		name := string(f.name(i))
		if l := last[name]; l != i {
			if err := f.hides(l, i); err != nil {
				return nil, inFeature(err, name)
			}
		}
	}
	list := make([]Named, len(names))
	for k, name := range names {
		r, err := f.readAt(last[name])
		if err != nil {
			return nil, err
		}
		list[k] = Named{name, r.Decode()}
	}
	return list, nil
}
