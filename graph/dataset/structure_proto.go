package dataset

import (
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// proto returns t in the format of TensorFlow's Python for the structure of elements.
func (t *Structure) proto() (*tfproto.StructuredValue, error) {
	switch t.Kind {
	case KindDense:
		return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorSpecValue{
			TensorSpecValue: &tfproto.TensorSpecProto{Shape: shapeProto(t.Spec.Shape), Dtype: tfproto.DataType(t.Spec.DType)},
		}}, nil
	case KindSparse:
		return typeSpec(tfproto.TypeSpecProto_SPARSE_TENSOR_SPEC, "SparseTensorSpec", 3,
			shapeValue(t.Spec.Shape), typeValue(t.Spec.DType)), nil
	case KindRagged:
		return typeSpec(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, "RaggedTensorSpec", int32(t.RaggedRank+1),
			shapeValue(t.Spec.Shape), typeValue(t.Spec.DType),
			&tfproto.StructuredValue{Kind: &tfproto.StructuredValue_Int64Value{Int64Value: int64(t.RaggedRank)}},
			typeValue(t.Splits)), nil
	case KindTuple, KindFields:
		parts := make([]*tfproto.StructuredValue, len(t.Parts))
		fields := map[string]*tfproto.StructuredValue{}
		for i, part := range t.Parts {
			var err error
			if parts[i], err = part.proto(); err != nil {
				return nil, err
			}
			if t.Kind == KindFields {
				fields[t.Keys[i]] = parts[i]
			}
		}
		if t.Kind == KindFields {
			return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_DictValue{DictValue: &tfproto.DictValue{Fields: fields}}}, nil
		}
		return tupleValue(parts), nil
	}
	return nil, millrace.Errorf(millrace.ErrModel, "elements with datasets in them cannot be saved: %v", t)
}

func tupleValue(parts []*tfproto.StructuredValue) *tfproto.StructuredValue {
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TupleValue{TupleValue: &tfproto.TupleValue{Values: parts}}}
}

// typeSpec returns a type that Python knows by class, made from its state.
func typeSpec(class tfproto.TypeSpecProto_TypeSpecClass, name string, components int32, state ...*tfproto.StructuredValue) *tfproto.StructuredValue {
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TypeSpecValue{TypeSpecValue: &tfproto.TypeSpecProto{
		TypeSpecClass: class, TypeState: tupleValue(state), TypeSpecClassName: name, NumFlatComponents: components,
	}}}
}

func shapeValue(shape tfbridge.Shape) *tfproto.StructuredValue {
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorShapeValue{TensorShapeValue: shapeProto(shape)}}
}

func typeValue(dtype tfbridge.DataType) *tfproto.StructuredValue {
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorDtypeValue{TensorDtypeValue: tfproto.DataType(dtype)}}
}

func shapeProto(shape tfbridge.Shape) *tfproto.TensorShapeProto {
	dims, err := shape.ToSlice()
	if err != nil {
		return &tfproto.TensorShapeProto{UnknownRank: true}
	}
	p := &tfproto.TensorShapeProto{}
	for _, dim := range dims {
		p.Dim = append(p.Dim, &tfproto.TensorShapeProto_Dim{Size: dim})
	}
	return p
}

// shapeFrom returns a shape. Values that are not dimensions become unknown.
func shapeFrom(p *tfproto.TensorShapeProto) tfbridge.Shape {
	if p == nil || p.GetUnknownRank() {
		return tfbridge.Shape{}
	}
	dims := make([]int64, len(p.GetDim()))
	for i, dim := range p.GetDim() {
		dims[i] = max(dim.GetSize(), -1)
	}
	return tfbridge.MakeShape(dims...)
}

// structureFrom returns the structure that a StructuredValue describes.
func structureFrom(v *tfproto.StructuredValue) (*Structure, error) {
	switch kind := v.GetKind().(type) {
	case *tfproto.StructuredValue_TensorSpecValue:
		p := kind.TensorSpecValue
		return DenseSpec(tfbridge.DataType(p.GetDtype()), shapeFrom(p.GetShape())), nil
	case *tfproto.StructuredValue_TypeSpecValue:
		return leafFrom(kind.TypeSpecValue)
	case *tfproto.StructuredValue_TupleValue:
		return tupleFrom(kind.TupleValue.GetValues())
	case *tfproto.StructuredValue_ListValue:
		return tupleFrom(kind.ListValue.GetValues())
	case *tfproto.StructuredValue_NamedTupleValue:
		var values []*tfproto.StructuredValue
		for _, pair := range kind.NamedTupleValue.GetValues() {
			values = append(values, pair.GetValue())
		}
		return tupleFrom(values)
	case *tfproto.StructuredValue_DictValue:
		fields := kind.DictValue.GetFields()
		t := &Structure{Kind: KindFields, Keys: slices.Sorted(maps.Keys(fields))}
		for _, key := range t.Keys {
			part, err := structureFrom(fields[key])
			if err != nil {
				return nil, err
			}
			t.Parts = append(t.Parts, part)
		}
		return t, nil
	}
	return nil, millrace.Errorf(millrace.ErrModel, "elements have parts of an unknown kind %T", v.GetKind())
}

func tupleFrom(values []*tfproto.StructuredValue) (*Structure, error) {
	t := TupleSpec()
	for _, v := range values {
		part, err := structureFrom(v)
		if err != nil {
			return nil, err
		}
		t.Parts = append(t.Parts, part)
	}
	return t, nil
}

// leafFrom returns the structure of a sparse or ragged part.
func leafFrom(p *tfproto.TypeSpecProto) (*Structure, error) {
	state := p.GetTypeState().GetTupleValue().GetValues()
	spec := graph.Spec{}
	if len(state) >= 2 {
		spec.Shape = shapeFrom(state[0].GetTensorShapeValue())
		spec.DType = tfbridge.DataType(state[1].GetTensorDtypeValue())
	}
	switch class := p.GetTypeSpecClass(); {
	case class == tfproto.TypeSpecProto_SPARSE_TENSOR_SPEC && len(state) == 2:
		return SparseSpec(spec.DType, spec.Shape), nil
	case class == tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC && len(state) == 4:
		rank := state[2].GetInt64Value()
		if rank < 0 || rank > limit.Parallel {
			return nil, millrace.Errorf(millrace.ErrModel, "a ragged part of rank %d", rank)
		}
		t := RaggedSpec(spec.DType, spec.Shape, int(rank))
		t.Splits = tfbridge.DataType(state[3].GetTensorDtypeValue())
		return t, nil
	}
	return nil, millrace.Errorf(millrace.ErrModel, "elements have a part of the type %q", p.GetTypeSpecClassName())
}
