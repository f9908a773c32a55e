package lookup

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// MutableHashTable maps keys to values, and changes while the graph runs. It begins
// empty in each session. Runs may use it concurrently; control dependencies decide
// whether a lookup sees an insert of the same run.
//
// An iterator whose functions use such a table cannot be saved.
type MutableHashTable struct {
	resource     tfbridge.Output
	defaultValue tfbridge.Output
	key          tfbridge.DataType
}

// NewMutableHashTable adds a table of keys of one data type. Keys that the table lacks
// get defaultValue, which determines the data type and the shape of all values.
//
// It wraps MutableHashTableV2, and MutableHashTableOfTensorsV2 for values that are not
// scalars.
func NewMutableHashTable(s *graph.Scope, key tfbridge.DataType, defaultValue tfbridge.Output) *MutableHashTable {
	t := &MutableHashTable{defaultValue: defaultValue, key: key}
	if s.Err() != nil {
		return t
	}
	attrs := map[string]any{"key_dtype": key, "value_dtype": defaultValue.DataType()}
	if shape := defaultValue.Shape(); shape.NumDimensions() != 0 {
		attrs["value_shape"] = shape
		t.resource = s.Op1("MutableHashTableOfTensorsV2", attrs)
	} else {
		t.resource = s.Op1("MutableHashTableV2", attrs)
	}
	return t
}

// Lookup returns the value of each key, in the shape of keys followed by the shape of a
// value. The scope may be that of a function.
//
// It wraps LookupTableFindV2.
func (t *MutableHashTable) Lookup(s *graph.Scope, keys tfbridge.Output) tfbridge.Output {
	t.check(s, "Lookup", keys)
	return s.Op1("LookupTableFindV2", nil, t.resource, keys, t.defaultValue)
}

// Insert returns the operation that adds keys with their values, or gives existing keys
// new values. The scope may be that of a function.
//
// It wraps LookupTableInsertV2.
func (t *MutableHashTable) Insert(s *graph.Scope, keys, values tfbridge.Output) *tfbridge.Operation {
	t.check(s, "Insert", keys)
	if s.Err() == nil && values.DataType() != t.defaultValue.DataType() {
		s.UpdateErr("Insert", millrace.Errorf(millrace.ErrModel, "the values are of type %v, those of the table of type %v", values.DataType(), t.defaultValue.DataType()))
	}
	return s.AddOperation(tfbridge.OpSpec{Type: "LookupTableInsertV2", Input: []tfbridge.Input{t.resource, keys, values}})
}

// Remove returns the operation that removes keys. Keys that the table lacks are
// ignored.
//
// It wraps LookupTableRemoveV2.
func (t *MutableHashTable) Remove(s *graph.Scope, keys tfbridge.Output) *tfbridge.Operation {
	t.check(s, "Remove", keys)
	return s.AddOperation(tfbridge.OpSpec{Type: "LookupTableRemoveV2", Input: []tfbridge.Input{t.resource, keys}})
}

// Size returns the number of keys, an int64.
//
// It wraps LookupTableSizeV2.
func (t *MutableHashTable) Size(s *graph.Scope) tfbridge.Output {
	return s.Op1("LookupTableSizeV2", nil, t.resource)
}

// Export returns all keys, and their values in the same, unspecified order.
//
// It wraps LookupTableExportV2.
func (t *MutableHashTable) Export(s *graph.Scope) (keys, values tfbridge.Output) {
	out := s.Op("LookupTableExportV2", map[string]any{"Tkeys": t.key, "Tvalues": t.defaultValue.DataType()}, t.resource)
	return out[0], out[1]
}

// check fails for keys of another type.
func (t *MutableHashTable) check(s *graph.Scope, what string, keys tfbridge.Output) {
	if s.Err() == nil && keys.DataType() != t.key {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "the keys are of type %v, those of the table of type %v", keys.DataType(), t.key))
	}
}

// DenseHashTable is a [MutableHashTable] that needs less memory per key. Two values
// must not be used as keys.
type DenseHashTable struct {
	MutableHashTable
	empty, deleted tfbridge.Output
}

// DenseHashTableKeys are two different values that a [DenseHashTable] reserves. Looking
// one up or inserting it is an error of code InvalidArgument.
type DenseHashTableKeys struct {
	Empty   tfbridge.Output // marks a free slot
	Deleted tfbridge.Output // marks a slot whose key was removed
}

// NewDenseHashTable adds a table. Keys that the table lacks get defaultValue, whose
// data type and shape all values have.
//
// TensorFlow's kernels accept strings and integers as keys, but no strings as values.
// It wraps MutableDenseHashTableV2.
func NewDenseHashTable(s *graph.Scope, reserved DenseHashTableKeys, defaultValue tfbridge.Output) *DenseHashTable {
	t := &DenseHashTable{MutableHashTable{defaultValue: defaultValue}, reserved.Empty, reserved.Deleted}
	if s.Err() != nil {
		return t
	}
	t.key = reserved.Empty.DataType()
	if deleted := reserved.Deleted.DataType(); deleted != t.key {
		s.UpdateErr("DenseHashTable", millrace.Errorf(millrace.ErrModel, "the empty key is of type %v, the deleted key of type %v", t.key, deleted))
	}
	t.resource = s.Op1("MutableDenseHashTableV2", map[string]any{"value_dtype": defaultValue.DataType(), "value_shape": defaultValue.Shape()},
		reserved.Empty, reserved.Deleted)
	return t
}

// Export returns all keys, and their values in the same, unspecified order.
//
// LookupTableExportV2, which it wraps, returns every slot of the table, including the
// free ones.
func (t *DenseHashTable) Export(s *graph.Scope) (keys, values tfbridge.Output) {
	keys, values = t.MutableHashTable.Export(s)
	if s.Err() != nil {
		return keys, values
	}
	used := graph.LogicalAnd(s, differs(s, keys, t.empty), differs(s, keys, t.deleted))
	places := graph.Reshape(s, graph.Where(s, used), s.Const([]int64{-1}))
	return rowsOf(s, graph.GatherV2(s, keys, places, 0), t.empty), rowsOf(s, graph.GatherV2(s, values, places, 0), t.defaultValue)
}

// differs reports for each of several keys whether it differs from key.
func differs(s *graph.Scope, keys, key tfbridge.Output) tfbridge.Output {
	n := graph.Slice(s, graph.Shape(s, keys), s.Const([]int64{0}), s.Const([]int64{1}))
	rows := graph.Reshape(s, keys, graph.ConcatV2(s, []tfbridge.Output{n, s.Const([]int64{-1})}, 0))
	row := graph.Reshape(s, key, s.Const([]int64{1, -1}))
	return graph.Any(s, graph.NotEqual(s, rows, row), s.Const(int32(1)))
}

// rowsOf returns x as rows of the shape of another tensor.
func rowsOf(s *graph.Scope, x, row tfbridge.Output) tfbridge.Output {
	if s.Err() != nil {
		return x
	}
	return graph.Reshape(s, x, graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{-1}), graph.Shape(s, row)}, 0))
}
