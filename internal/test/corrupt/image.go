package corrupt

import "encoding/binary"

// TopDownBMP is an image of one pixel whose height is -1: the top row comes first. It
// ends the process of a model that decodes it to floats without a check.
func TopDownBMP() []byte {
	const header, width, height, bits = 10, 18, 22, 28
	b := make([]byte, 54+4)
	copy(b, "BM")
	b[header], b[width], b[bits] = 54, 1, 24
	binary.LittleEndian.PutUint32(b[height:], 1<<32-1)
	return b
}
