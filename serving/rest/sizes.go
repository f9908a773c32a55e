package rest

import (
	"bytes"
	"math"

	"millrace/serving/batching"
	"millrace/tfbridge"
)

// A lease grows by these estimates before the memory is allocated. They are upper
// bounds for usual requests, and cost little compared with the work that follows.

// stringBytes is the memory of a string in addition to its bytes, in Go and in
// TensorFlow.
const stringBytes = 16 + 24

// tensorBytes returns the memory of the inputs in a body: the elements that are parsed,
// and the tensors with copies of them. The number of elements is at most one more than
// the number of commas.
func tensorBytes(text []byte, infos map[string]tfbridge.TensorInfo) int64 {
	width, strings := int64(1), int64(0)
	for _, info := range infos {
		if info.DType == tfbridge.String {
			width, strings = max(width, stringBytes/2), int64(len(text))
		}
		width = max(width, int64(info.DType.Size()))
	}
	elements := int64(bytes.Count(text, []byte{','})) + 1
	return 2 * (elements*width + strings)
}

// featureBytes returns the memory of the features in a body while they are parsed,
// without the records made from them.
func featureBytes(text []byte) int64 {
	elements := int64(bytes.Count(text, []byte{','})) + 1
	return elements*stringBytes + int64(len(text))
}

// recordBytes returns the memory of a serialized record: the record, and its copy in a
// tensor.
func recordBytes(record string) int64 { return 2*int64(len(record)) + stringBytes }

// answerBytes returns the memory of an answer: the outputs, and their text.
func answerBytes(outputs []batching.Output) int64 {
	n := int64(0)
	for _, o := range outputs {
		var room [8]int64
		size, shape := o.Tensor.ByteSize(), o.Tensor.AppendShape(room[:0])
		if len(shape) > 0 && shape[0] > 0 { // the tensor of a batch has rows of other requests
			size = size / shape[0] * o.Rows
			shape[0] = o.Rows
		}
		n = min(n+size+textBytes(size, shape), hugeBytes)
	}
	return n
}

// hugeBytes is more memory than there is, and less than the sum of a few would overflow.
const hugeBytes = math.MaxInt64 / 8

// textBytes returns the size of a tensor's text, an upper bound for usual values. A tensor
// without elements has a text as well: with the shape [1000000000, 0] it is a billion pairs
// of brackets.
func textBytes(size int64, shape []int64) int64 {
	const (
		asText  = 4  // times the bytes of an element that has four or more
		element = 13 // -6.1035e-05 and a comma: the longest of the shorter elements
		array   = 3  // two brackets and a comma
	)
	parts, text := int64(1), int64(0)
	for _, n := range shape {
		text = min(text+array*parts, hugeBytes)
		if n > 0 && parts > hugeBytes/array/n {
			return hugeBytes
		}
		parts *= n
	}
	return min(text+max(asText*size, element*parts), hugeBytes)
}
