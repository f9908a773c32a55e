package lookup

import (
	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// StaticVocabularyTable maps the keys of a vocabulary to their ids, and every other
// key to one of some more ids, its bucket, by a hash. Many runs may use it
// concurrently.
type StaticVocabularyTable struct {
	table   *StaticHashTable // nil: all keys are hashed
	buckets int64
}

// absent is the table's value for keys outside of the vocabulary.
const absent = -1

// NewStaticVocabularyTable adds a table, and its initializer to those of the scope. The
// initializer's keys are of type String or Int64, and its values, of type Int64, are
// the ids from 0 up; nil means that every key is hashed. Other keys get ids from the
// size of the vocabulary up. They need at least one bucket; [NewStaticHashTable] makes
// a table without buckets.
func NewStaticVocabularyTable(s *graph.Scope, init *Initializer, oovBuckets int64) *StaticVocabularyTable {
	const what = "StaticVocabularyTable"
	t := &StaticVocabularyTable{buckets: oovBuckets}
	switch {
	case oovBuckets <= 0:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "there are %d buckets for other keys, must be at least 1; StaticHashTable has none", oovBuckets))
	case init == nil:
	case init.err == nil && init.key != tfbridge.String && init.key != tfbridge.Int64:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "the keys are of type %v, must be string or int64", init.key))
	case init.err == nil && init.value != tfbridge.Int64:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "the values are of type %v, must be int64", init.value))
	default:
		t.table = NewStaticHashTable(s, init, s.Const(int64(absent)))
	}
	return t
}

// Lookup returns the id of each key, an int64, in the shape of keys. Keys of any
// integer type fit a table of integers. The scope may be that of a function. For
// ragged or sparse keys look up their values.
//
// It wraps LookupTableFindV2 and StringToHashBucketFast.
func (t *StaticVocabularyTable) Lookup(s *graph.Scope, keys tfbridge.Output) tfbridge.Output {
	if t.table != nil && t.table.key == tfbridge.Int64 && isInteger(keys.DataType()) {
		keys = graph.Cast(s, keys, tfbridge.Int64)
	}
	text := keys
	if isInteger(keys.DataType()) {
		text = s.Op1("AsString", nil, keys)
	}
	bucket := s.Op1("StringToHashBucketFast", map[string]any{"num_buckets": t.buckets}, text)
	if t.table == nil {
		return bucket
	}
	ids := t.table.Lookup(s, keys)
	known := graph.NotEqual(s, ids, s.Const(int64(absent)))
	return graph.Select(s, known, ids, graph.Add(s, bucket, t.table.Size(s)))
}

// Size returns the number of ids, an int64: the keys of the vocabulary and the
// buckets.
func (t *StaticVocabularyTable) Size(s *graph.Scope) tfbridge.Output {
	buckets := s.Const(t.buckets)
	if t.table == nil {
		return buckets
	}
	return graph.Add(s, t.table.Size(s), buckets)
}

// isInteger reports whether a data type is an integer of 8 to 64 bits.
func isInteger(d dtype.DataType) bool {
	_, _, ok := d.IntRange()
	return ok
}
