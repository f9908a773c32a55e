package sigdef

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/internal/base/wire"
)

// A session feeds and fetches plain tensors. A sparse, ragged or other composite tensor
// of a signature consists of several of them, which only its TensorInfo lists:
//
//	coo_sparse        the names of three tensors
//	composite_tensor  a TypeSpec, and a TensorInfo for each component,
//	                  which may be composite itself
//
// A Signature lists these components instead of the whole. Each has its own key: the
// key of the whole, a slash, and the attribute's name in Python.
// tf.compat.v1.sparse_placeholder and tf.compat.v1.ragged.placeholder use the same
// names for their placeholders.
//
//	tf.SparseTensor  ids  ->  ids/indices      int64[n, rank]
//	                          ids/values       dtype[n]
//	                          ids/dense_shape  int64[rank]
//	tf.RaggedTensor  ids  ->  ids/flat_values  dtype[n, ...]
//	                          ids/row_splits   int64[rows + 1]
//	  of two ragged dimensions, from the outermost: ids/row_splits_0, ids/row_splits_1
//	any other        ids  ->  ids/0, ids/1, ... in the order of its TypeSpec

// Field numbers of TensorInfo.CooSparse, TensorInfo.CompositeTensor and
// TypeSpecProto.
const (
	sparseValues, sparseIndices, sparseShape = 1, 2, 3

	compositeSpec, compositeComponent = 1, 2

	specClass = 1
)

// Values of TypeSpecProto.type_spec_class.
const (
	sparseTensorSpec  = 1
	indexedSlicesSpec = 2
	raggedTensorSpec  = 3
)

// appendInfo appends the tensor that a TensorInfo describes, or its components.
func appendInfo(tensors []Tensor, info []byte, name string, depth int) ([]Tensor, bool) {
	t, err := ParseTensor(info)
	if err != nil || depth > maxDepth {
		return nil, false
	}
	t.Name = name
	var encoded []byte
	wire.Each(info, func(num protowire.Number, v []byte, _ uint64) bool {
		if num == infoSparse || num == infoComposite {
			encoded = v
		}
		return true
	})
	switch t.Encoding {
	case Sparse:
		return appendSparse(tensors, encoded, t)
	case Composite:
		return appendComposite(tensors, encoded, name, depth)
	}
	return append(tensors, t), true
}

// appendSparse appends the components of a CooSparse message. whole has the type
// and the shape of the sparse tensor.
func appendSparse(tensors []Tensor, coo []byte, whole Tensor) ([]Tensor, bool) {
	rank := int64(-1)
	if whole.Shape.Dims() != nil {
		rank = int64(whole.Shape.NumDimensions())
	}
	component := func(name, node string, d dtype.DataType, dims ...int64) Tensor {
		spec := dtype.TensorSpec{Name: whole.Name + "/" + name, DType: d, Shape: dtype.MakeShape(dims...)}
		return Tensor{TensorSpec: spec, Node: node, Encoding: Sparse, Whole: whole.Name, Component: name}
	}
	var values, indices, shape string
	ok := wire.Each(coo, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case sparseValues:
			values = string(v)
		case sparseIndices:
			indices = string(v)
		case sparseShape:
			shape = string(v)
		}
		return true
	})
	return append(tensors,
		component("indices", indices, dtype.Int64, -1, rank),
		component("values", values, whole.DType, -1),
		component("dense_shape", shape, dtype.Int64, rank)), ok
}

// appendComposite appends the components of a CompositeTensor message.
func appendComposite(tensors []Tensor, composite []byte, whole string, depth int) ([]Tensor, bool) {
	class := uint64(0)
	var infos [][]byte
	ok := wire.Each(composite, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case compositeSpec:
			return wire.Each(v, func(num protowire.Number, _ []byte, n uint64) bool {
				if num == specClass {
					class = n
				}
				return true
			})
		case compositeComponent:
			infos = append(infos, v)
		}
		return true
	})
	encoding, names := componentNames(class, len(infos))
	for i, info := range infos {
		parts, fine := appendInfo(nil, info, whole+"/"+names[i], depth+1)
		ok = ok && fine
		for _, p := range parts {
			p.Encoding, p.Whole, p.Component = encoding, whole, names[i]
			tensors = append(tensors, p)
		}
	}
	return tensors, ok
}

// componentNames returns the names of n components of a TypeSpec's class, in the order
// of TensorFlow's flattening.
func componentNames(class uint64, n int) (Encoding, []string) {
	switch {
	case class == sparseTensorSpec && n == 3:
		return Sparse, []string{"indices", "values", "dense_shape"}
	case class == indexedSlicesSpec && (n == 2 || n == 3):
		return Composite, []string{"values", "indices", "dense_shape"}[:n]
	case class == raggedTensorSpec && n == 2:
		return Ragged, []string{"flat_values", "row_splits"}
	case class == raggedTensorSpec && n > 2:
		names := []string{"flat_values"}
		for i := range n - 1 {
			names = append(names, "row_splits_"+strconv.Itoa(i))
		}
		return Ragged, names
	}
	var names []string
	for i := range n {
		names = append(names, strconv.Itoa(i))
	}
	return Composite, names
}
