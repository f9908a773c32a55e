package dataset

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph/dataset/internal/limit"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// leafOf returns a leaf of a kind, with float32 values.
func leafOf(kind Kind, rank int, dims ...int64) *Structure {
	switch shape := tfbridge.MakeShape(dims...); kind {
	case KindSparse:
		return SparseSpec(tfbridge.Float, shape)
	case KindRagged:
		return RaggedSpec(tfbridge.Float, shape, rank)
	}
	return DenseSpec(tfbridge.Float, tfbridge.MakeShape(dims...))
}

// text describes a structure with the details that String omits.
func text(t *Structure) string {
	var b strings.Builder
	b.WriteString(t.String())
	for _, leaf := range t.Leaves() {
		if leaf.Kind == KindRagged {
			b.WriteString(" rank " + string(rune('0'+leaf.RaggedRank)) + " splits " + leaf.Splits.String())
		}
	}
	return b.String()
}

// Batches have one more dimension, and slices one less. So do the rows of ragged parts.
func TestBatchedAndSliced(t *testing.T) {
	open := DenseSpec(tfbridge.Float, tfbridge.Shape{})
	for _, tt := range []struct{ before, batched *Structure }{
		{leafOf(KindDense, 0), leafOf(KindDense, 0, 5)},
		{leafOf(KindDense, 0, 2, -1), leafOf(KindDense, 0, 5, 2, -1)},
		{open, open},
		{leafOf(KindSparse, 0, 3), leafOf(KindSparse, 0, 5, 3)},
		{leafOf(KindRagged, 0, -1), leafOf(KindRagged, 1, 5, -1)},
		{leafOf(KindRagged, 1, 2, -1), leafOf(KindRagged, 2, 5, 2, -1)},
		{TupleSpec(leafOf(KindDense, 0), leafOf(KindRagged, 1, 2, -1)), TupleSpec(leafOf(KindDense, 0, 5), leafOf(KindRagged, 2, 5, 2, -1))},
		{FieldsSpec(map[string]*Structure{"a": leafOf(KindDense, 0, 3)}), FieldsSpec(map[string]*Structure{"a": leafOf(KindDense, 0, 5, 3)})},
	} {
		batches, err := tt.before.batched(5)
		if err != nil || text(batches) != text(tt.batched) {
			t.Errorf("batches of %s are %s, want %s, %v", text(tt.before), text(batches), text(tt.batched), err)
		}
		rows, err := tt.batched.sliced()
		if err != nil || text(rows) != text(tt.before) {
			t.Errorf("slices of %s are %s, want %s, %v", text(tt.batched), text(rows), text(tt.before), err)
		}
	}
	for want, bad := range map[string]*Structure{
		"component 0 is a scalar and has no slices":                           leafOf(KindDense, 0),
		"component 1 is a scalar and has no slices":                           TupleSpec(leafOf(KindDense, 0, 2), leafOf(KindDense, 0)),
		"component 0 is a sparse float32[3], whose slices would be sparse":    leafOf(KindSparse, 0, 3),
		"component 0 is a ragged float32[2] and has no slices":                leafOf(KindRagged, 0, 2),
		"component 1 is a dataset float32[2] and has no slices":               TupleSpec(leafOf(KindDense, 0, 2), DatasetSpec(leafOf(KindDense, 0, 2))),
		"datasets cannot be batched, elements are (dataset float32[], float3": nil,
	} {
		if bad == nil {
			_, err := TupleSpec(DatasetSpec(leafOf(KindDense, 0)), leafOf(KindDense, 0)).batched(1)
			wantModelError(t, err, want)
			continue
		}
		_, err := bad.sliced()
		wantModelError(t, err, want)
	}
}

func wantModelError(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The common structure of two structures describes both.
func TestCommonStructure(t *testing.T) {
	fields := func(key string, part *Structure) *Structure { return FieldsSpec(map[string]*Structure{key: part}) }
	narrow := leafOf(KindRagged, 1, 2, -1)
	narrow.Splits = tfbridge.Int32
	open, text64 := DenseSpec(tfbridge.Float, tfbridge.Shape{}), DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	const notAlike, ranks, names = "are not alike", "differ in ragged rank or splits", "have other fields"
	for _, tt := range []struct {
		a, b *Structure
		want *Structure
		err  string
	}{
		{leafOf(KindDense, 0, 2, 3), leafOf(KindDense, 0, 2, 4), leafOf(KindDense, 0, 2, -1), ""},
		{leafOf(KindDense, 0, 2, 3), leafOf(KindDense, 0, 2), open, ""},
		{leafOf(KindDense, 0), open, open, ""},
		{leafOf(KindSparse, 0, 2), leafOf(KindSparse, 0, 3), leafOf(KindSparse, 0, -1), ""},
		{leafOf(KindRagged, 1, 2, -1), leafOf(KindRagged, 1, 3, -1), leafOf(KindRagged, 1, -1, -1), ""},
		{narrow, narrow, narrow, ""},
		{fields("a", leafOf(KindDense, 0, 2)), fields("a", leafOf(KindDense, 0, 3)), fields("a", leafOf(KindDense, 0, -1)), ""},
		{DatasetSpec(leafOf(KindDense, 0, 2)), DatasetSpec(leafOf(KindDense, 0, 3)), DatasetSpec(leafOf(KindDense, 0, -1)), ""},
		{leafOf(KindDense, 0), leafOf(KindSparse, 0, 1), nil, notAlike},
		{leafOf(KindDense, 0), text64, nil, notAlike},
		{TupleSpec(open), TupleSpec(open, open), nil, notAlike},
		{TupleSpec(open, leafOf(KindDense, 0)), TupleSpec(open, text64), nil, notAlike},
		{leafOf(KindRagged, 1, 2, -1), leafOf(KindRagged, 2, 2, -1, -1), nil, ranks},
		{leafOf(KindRagged, 1, 2, -1), narrow, nil, ranks},
		{fields("a", open), fields("b", open), nil, names},
		{DatasetSpec(leafOf(KindDense, 0)), DatasetSpec(text64), nil, notAlike},
	} {
		for range 2 {
			both, err := tt.a.common(tt.b)
			switch {
			case tt.want == nil:
				wantModelError(t, err, tt.err)
			case err != nil || text(both) != text(tt.want):
				t.Errorf("%s and %s have %v in common, want %s, %v", text(tt.a), text(tt.b), both, text(tt.want), err)
			}
			tt.a, tt.b = tt.b, tt.a
		}
	}
}

// A structure written in Python's format is read as the same structure.
func TestStructuresAreWritten(t *testing.T) {
	narrow := leafOf(KindRagged, 1, 2, -1)
	narrow.Splits = tfbridge.Int32
	for _, want := range []*Structure{
		leafOf(KindDense, 0), leafOf(KindDense, 0, 2, -1), DenseSpec(tfbridge.String, tfbridge.Shape{}),
		leafOf(KindSparse, 0, 2, -1), leafOf(KindRagged, 0, 2), narrow, leafOf(KindRagged, 2, 2, -1, -1),
		TupleSpec(), TupleSpec(leafOf(KindDense, 0), TupleSpec(narrow)), FieldsSpec(map[string]*Structure{"b": leafOf(KindDense, 0), "a": leafOf(KindSparse, 0, 1)}),
	} {
		value, err := want.proto()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := structureFrom(value); err != nil || text(got) != text(want) || got.Kind != want.Kind {
			t.Errorf("%s is read as %v, %v", text(want), got, err)
		}
	}
	ragged, err := leafOf(KindRagged, 2, 2, -1, -1).proto()
	if spec := ragged.GetTypeSpecValue(); err != nil || spec.GetNumFlatComponents() != 3 || spec.GetTypeSpecClassName() != "RaggedTensorSpec" {
		t.Errorf("a ragged part is written as %v, %v", ragged, err)
	}
	sparse, err := leafOf(KindSparse, 0, 2).proto()
	if spec := sparse.GetTypeSpecValue(); err != nil || spec.GetNumFlatComponents() != 3 || spec.GetTypeSpecClassName() != "SparseTensorSpec" {
		t.Errorf("a sparse part is written as %v, %v", sparse, err)
	}
	for _, holds := range []*Structure{DatasetSpec(leafOf(KindDense, 0)), TupleSpec(DatasetSpec(leafOf(KindDense, 0)))} {
		_, err := holds.proto()
		wantModelError(t, err, "elements with datasets in them cannot be saved")
	}
}

// Other structures that Python may write are read; values that are not structures are
// refused.
func TestStructuresOfPython(t *testing.T) {
	part := func(t *Structure) *tfproto.StructuredValue {
		v, _ := t.proto()
		return v
	}
	ragged := func(change func(p *tfproto.TypeSpecProto, state []*tfproto.StructuredValue)) *tfproto.StructuredValue {
		v := proto.CloneOf(part(leafOf(KindRagged, 1, 2, -1)))
		change(v.GetTypeSpecValue(), v.GetTypeSpecValue().GetTypeState().GetTupleValue().GetValues())
		return v
	}
	rank := func(n int64) *tfproto.StructuredValue {
		return ragged(func(_ *tfproto.TypeSpecProto, state []*tfproto.StructuredValue) {
			state[2].Kind = &tfproto.StructuredValue_Int64Value{Int64Value: n}
		})
	}
	number, broken := part(leafOf(KindDense, 0)), &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_StringValue{}}
	list := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_ListValue{ListValue: &tfproto.ListValue{Values: []*tfproto.StructuredValue{number, number}}}}
	pair := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_NamedTupleValue{NamedTupleValue: &tfproto.NamedTupleValue{Values: []*tfproto.PairValue{
		{Key: "b", Value: number}, {Key: "a", Value: part(leafOf(KindDense, 0, 3))}}}}}
	below := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorSpecValue{TensorSpecValue: &tfproto.TensorSpecProto{Dtype: tfproto.DataType_DT_FLOAT,
		Shape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: -7}, {Size: 0}, {Size: 2}}}}}}
	for want, v := range map[string]*tfproto.StructuredValue{"(float32[], float32[])": list, "(float32[], float32[3])": pair, "float32[?, 0, 2]": below} {
		if got, err := structureFrom(v); err != nil || got.String() != want {
			t.Errorf("%v, want %s, %v", got, want, err)
		}
	}
	for _, n := range []int64{0, limit.Parallel} {
		if got, err := structureFrom(rank(n)); err != nil || int64(got.RaggedRank) != n {
			t.Errorf("rank %d: %v, %v", n, got, err)
		}
	}
	for want, v := range map[string]*tfproto.StructuredValue{
		"elements have parts of an unknown kind": broken,
		"unknown kind *tfproto.StructuredValue":  {Kind: &tfproto.StructuredValue_ListValue{ListValue: &tfproto.ListValue{Values: []*tfproto.StructuredValue{broken}}}},
		"of an unknown kind *":                   {Kind: &tfproto.StructuredValue_DictValue{DictValue: &tfproto.DictValue{Fields: map[string]*tfproto.StructuredValue{"a": broken}}}},
		"a ragged part of rank -1":               rank(-1),
		"a ragged part of rank 1":                rank(limit.Parallel + 1),
		`a part of the type "RaggedTensorSpec"`: ragged(func(p *tfproto.TypeSpecProto, state []*tfproto.StructuredValue) {
			p.TypeState.GetTupleValue().Values = state[:3]
		}),
		`of the type "RaggedTensorSpec"`: ragged(func(p *tfproto.TypeSpecProto, state []*tfproto.StructuredValue) {
			p.TypeState.GetTupleValue().Values = state[:1]
		}),
		`the type "RaggedTensorSpec"`: ragged(func(p *tfproto.TypeSpecProto, _ []*tfproto.StructuredValue) {
			p.TypeSpecClass = tfproto.TypeSpecProto_SPARSE_TENSOR_SPEC
		}),
		`a part of the type "VariableSpec"`: ragged(func(p *tfproto.TypeSpecProto, _ []*tfproto.StructuredValue) {
			p.TypeSpecClass, p.TypeSpecClassName = tfproto.TypeSpecProto_VARIABLE_SPEC, "VariableSpec"
		}),
	} {
		got, err := structureFrom(v)
		if got != nil {
			t.Errorf("%s: %v", want, got)
		}
		wantModelError(t, err, want)
	}
}

// The tensors of a part, and the shape of joined rows, depend on its kind.
func TestPartsOfStructures(t *testing.T) {
	for _, tt := range []struct {
		part *Structure
		size int
		rows string
	}{
		{leafOf(KindDense, 0, 2), 1, "[2]"}, {leafOf(KindSparse, 0, 2), 3, "[2]"}, {leafOf(KindRagged, 0, 2, 3), 1, "[2, 3]"},
		{leafOf(KindRagged, 1, 2, -1, 3), 2, "[?, 3]"}, {leafOf(KindRagged, 2, 2, -1, 4, 3), 3, "[?, 3]"}, {leafOf(KindRagged, 1, 2), 2, "?"},
		{RaggedSpec(tfbridge.Float, tfbridge.Shape{}, 1), 2, "?"},
	} {
		if tt.part.size() != tt.size || tt.part.valuesShape().String() != tt.rows {
			t.Errorf("%s is %d tensors with rows of %v, want %d, %s", text(tt.part), tt.part.size(), tt.part.valuesShape(), tt.size, tt.rows)
		}
	}
	if !TupleSpec(leafOf(KindDense, 0), leafOf(KindDense, 0)).onlyDense() || TupleSpec(leafOf(KindDense, 0), leafOf(KindSparse, 0, 1)).onlyDense() {
		t.Error("onlyDense is about all leaves")
	}
	for want, part := range map[int]*Structure{
		-1: leafOf(KindDense, 0, 2, 3), 0: leafOf(KindDense, 0, -1, 3), 1: leafOf(KindDense, 0, -1, -1, 3),
	} {
		if got := part.raggedRank(); got != want {
			t.Errorf("%v has ragged rank %d, want %d", part, got, want)
		}
	}
	if got := leafOf(KindSparse, 0, -1).raggedRank(); got != -1 {
		t.Errorf("a sparse part has ragged rank %d", got)
	}
}

// Only tensors of a known shape that is not empty certainly have bytes.
func TestMayHaveNoBytes(t *testing.T) {
	for _, tt := range []struct {
		part *Structure
		want bool
	}{
		{leafOf(KindDense, 0), false}, {leafOf(KindDense, 0, 1), false}, {leafOf(KindDense, 0, 2, 0), true}, {leafOf(KindDense, 0, -1), true},
		{DenseSpec(tfbridge.Float, tfbridge.Shape{}), true}, {DenseSpec(tfbridge.String, tfbridge.Shape{}), false},
	} {
		if got := mayHaveNoBytes(tt.part.Spec); got != tt.want {
			t.Errorf("%v: %v", tt.part, got)
		}
	}
}
