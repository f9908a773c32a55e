package bytecheck

import (
	"bytes"
	"encoding/binary"

	"millrace"
	"millrace/dtype"
)

// bmpHeight is where the header of a BMP has the height, an int32. It is negative
// where the first row is the top one.
const bmpHeight = 22

// images checks images. DecodeImage of another dtype than uint8 allocates a buffer of
// a BMP's height times its width, without a look at the sign. A negative size ends the
// process.
func (s Spec) images(elements [][]byte) (int, error) {
	if s.DType == 0 || s.DType == dtype.Uint8 {
		return 0, nil
	}
	for i, b := range elements {
		if !bytes.HasPrefix(b, []byte("BM")) || len(b) < bmpHeight+4 {
			continue
		}
		if height := int32(binary.LittleEndian.Uint32(b[bmpHeight:])); height < 0 {
			return i, refused(millrace.ErrSchema, "a BMP of height %d, top row first: TensorFlow decodes it to uint8 alone, not to %v", height, s.DType)
		}
	}
	return 0, nil
}
