package bytecheck

import (
	"iter"
	"maps"
	"strconv"

	"millrace"
)

// Checked reports whether there is a check for a type of operation.
func Checked(op string) bool { return checks[op] != nil }

// Operations returns the types of operations that have a check.
func Operations() iter.Seq[string] { return maps.Keys(checks) }

// checks are the checks by type of operation. A check returns the index of the
// element that it refuses.
var checks = map[string]func(s Spec, elements [][]byte) (int, error){
	"ParseTensor":           Spec.tensors,
	"DeserializeSparse":     Spec.sparse,
	"DeserializeManySparse": Spec.sparse,
	"DecodeImage":           Spec.images,
	"DecodeJpeg":            Spec.images,
	"DecodeAndCropJpeg":     Spec.images,
	"DecodePng":             Spec.images,
	"DecodeGif":             Spec.images,
	"DecodeBmp":             Spec.images,
	"DecodeWebP":            Spec.images,
	"DecodeJxl":             Spec.images,
	"DecodeCompressed":      Spec.compressed,
	"DecodeWav":             sounds,
}

// Check returns an error if the operation must not read its input, and the index of the
// bad element. The error's code is InvalidArgument.
func (s Spec) Check(elements [][]byte) (int, error) {
	check := checks[s.Op]
	if check == nil {
		return 0, millrace.Errorf(millrace.ErrInternal, "there is no check for operations %s", strconv.Quote(s.Op))
	}
	return check(s, elements)
}

// tensors checks TensorProtos.
func (s Spec) tensors(elements [][]byte) (int, error) {
	for i, b := range elements {
		if err := s.tensor(b, s.DType, &header{}); err != nil {
			return i, err
		}
	}
	return 0, nil
}
