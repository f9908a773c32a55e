package example

// SequenceExample is a record of context features and of feature lists, found
// but not decoded.
type SequenceExample struct {
	Context Features
	lists   Features // its values are FeatureList messages
}

// ParseSequence finds the features of a SequenceExample.
func ParseSequence(record []byte) (*SequenceExample, error) {
	m := message{record: record, end: len(record), sequence: true}
	s := SequenceExample{Context: Features{record: record, sequence: true}, lists: Features{record: record, sequence: true}}
	for m.rest() > 0 {
		var err error
		switch m.record[m.pos] {
		case tagBytes1:
			err = s.Context.read(&m, tagBytes1)
		case tagBytes2:
			err = s.lists.read(&m, tagBytes2)
		default:
			err = m.skip()
		}
		if err != nil {
			return nil, err
		}
	}
	return &s, nil
}

// ListNames returns the names of the feature lists in the order of their first
// appearance.
func (s *SequenceExample) ListNames() []string { return s.lists.Names() }

// HasList reports whether there is a feature list of this name.
func (s *SequenceExample) HasList(name string) bool { return s.lists.Has(name) }

// CountLists returns the number of feature lists with this name. If there are several
// the last one wins.
func (s *SequenceExample) CountLists(name string) int { return s.lists.Count(name) }

// DuplicateList is [Features.Duplicate] for feature lists.
func (s *SequenceExample) DuplicateList() (name string, found bool) { return s.lists.Duplicate() }

// List returns the features of a feature list, checked and counted but not
// decoded. It is empty if there is no list of this name.
func (s *SequenceExample) List(name string) ([]Raw, error) {
	for i := len(s.lists.entries) - 1; i >= 0; i-- {
		if string(s.lists.name(i)) == name {
			return s.list(i)
		}
	}
	return nil, nil
}

// list checks the feature list of an entry.
func (s *SequenceExample) list(i int) ([]Raw, error) {
	l, err := readList(s.lists.value(i))
	if err != nil {
		return nil, inFeature(err, string(s.lists.name(i)))
	}
	return l, nil
}

// readList checks the features of a feature list.
func readList(m message) ([]Raw, error) {
	var list []Raw
	for m.rest() > 0 {
		one, err := m.field(tagBytes1, "a feature of a list")
		if err != nil {
			return nil, err
		}
		r, err := readFeature(one)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// DecodeLists returns all feature lists, each name once, in the order of
// ListNames.
func (s *SequenceExample) DecodeLists() ([]NamedList, error) {
	names, last := s.lists.index()
	all := make([]NamedList, len(names))
	for k, name := range names {
		raws, err := s.list(last[name])
		if err != nil {
			return nil, err
		}
		l := NamedList{Name: name, Features: make([]Feature, len(raws))}
		for i, r := range raws {
			l.Features[i] = r.Decode()
		}
		all[k] = l
	}
	return all, nil
}

// Form is the form that a record appears to have.
type Form uint8

// The possible forms. An Example has the same bytes as a SequenceExample with context
// features only. For an Example's parser, a record with feature lists has fewer
// features or none.
const (
	Neither      Form = iota // neither of the two messages
	Empty                    // either of them, without features
	LikeExample              // features, no feature lists
	LikeSequence             // feature lists, with or without context features
)

// String describes the form: "an Example", "a SequenceExample".
func (f Form) String() string {
	switch f {
	case Empty:
		return "an Example without features"
	case LikeExample:
		return "an Example"
	case LikeSequence:
		return "a SequenceExample"
	}
	return "neither an Example nor a SequenceExample"
}

// Sniff returns the form that a record appears to have, for messages about records
// without the requested features.
func Sniff(record []byte) Form {
	s, err := ParseSequence(record)
	if err != nil || s.check() != nil {
		if f, err := Parse(record); err == nil && len(f.entries) > 0 {
			return LikeExample
		}
		return Neither
	}
	switch {
	case len(s.lists.entries) > 0:
		return LikeSequence
	case len(s.Context.entries) > 0:
		return LikeExample
	}
	return Empty
}

// check reads every feature list.
func (s *SequenceExample) check() error {
	for i := range s.lists.entries {
		if _, err := s.list(i); err != nil {
			return err
		}
	}
	return nil
}
