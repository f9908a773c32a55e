package rest

import (
	"bytes"

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

// answerBytes returns the memory of an answer: the outputs, and four times as much for
// their text.
func answerBytes(outputs []batching.Output) int64 {
	const asText = 4
	n := int64(0)
	for _, o := range outputs {
		var room [8]int64
		size := o.Tensor.ByteSize()
		if shape := o.Tensor.AppendShape(room[:0]); len(shape) > 0 && shape[0] > 0 { // the tensor of a batch has rows of other requests
			size = size / shape[0] * o.Rows
		}
		n += size * (1 + asText)
	}
	return n
}
