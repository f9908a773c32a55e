package bytecheck

import (
	"encoding/binary"
	"strings"
)

// A JPEG XL is a codestream, or a container of boxes with a codestream, whole or in
// parts.
const (
	jxlStream    = "\xff\x0a"
	jxlContainer = "\x00\x00\x00\x0cJXL \r\n\x87\n"

	jxlHeaderMost = 256 // bytes; a header is shorter
	jxlWork       = 4   // bytes a pixel and channel, since decoding is done in floats
)

// readJXL reads the header of a JPEG XL. A header that it cannot read counts as size 0,
// and TensorFlow refuses it.
func readJXL(b []byte, p *picture) {
	p.format = "JPEG XL"
	if strings.HasPrefix(string(b[:min(len(b), len(jxlContainer))]), jxlContainer) {
		b = jxlParts(b)
	}
	if len(b) < len(jxlStream) || string(b[:len(jxlStream)]) != jxlStream {
		return
	}
	r := &bitReader{rest: b[len(jxlStream):]}
	p.height, p.width = r.jxlSize()
	p.channels, p.frames = 3+r.jxlExtraChannels(), 1
	p.work = product(p.width, p.height, p.channels, jxlWork)
}

// jxlParts returns the beginning of the codestream in a container.
func jxlParts(b []byte) []byte {
	var stream []byte
	for len(b) >= 8 && len(stream) < jxlHeaderMost {
		size, kind, data := uint64(binary.BigEndian.Uint32(b)), string(b[4:8]), b[8:]
		switch {
		case size == 1 && len(data) >= 8:
			size, data = binary.BigEndian.Uint64(data)-16, data[8:]
		case size == 0:
			size = uint64(len(data))
		default:
			size -= 8
		}
		box := data[:min(size, uint64(len(data)))]
		switch kind {
		case "jxlc":
			stream = append(stream, box[:min(len(box), jxlHeaderMost)]...)
		case "jxlp": // a number stands before each part
			stream = append(stream, skip(box, 4)[:min(len(skip(box, 4)), jxlHeaderMost)]...)
		}
		b = data[len(box):]
	}
	return stream
}

// bitReader reads numbers from the lowest bit on. Zeros follow the last byte.
type bitReader struct {
	rest []byte
	used int // bits of the first byte
}

// bits returns a number of n bits.
func (r *bitReader) bits(n int) int64 {
	var v int64
	for i := range n {
		if len(r.rest) == 0 {
			break
		}
		v |= int64(r.rest[0]>>r.used&1) << i
		if r.used++; r.used == 8 {
			r.rest, r.used = r.rest[1:], 0
		}
	}
	return v
}

// choice is one encoding of a number: some bits, added to a first value.
type choice struct {
	first int64
	bits  int
}

// number reads a number whose encoding two bits select.
func (r *bitReader) number(choices [4]choice) int64 {
	c := choices[r.bits(2)]
	return c.first + r.bits(c.bits)
}

// jxlRatios are the aspect ratios that a header may select.
var jxlRatios = [8][2]int64{1: {1, 1}, 2: {12, 10}, 3: {4, 3}, 4: {3, 2}, 5: {16, 9}, 6: {5, 4}, 7: {2, 1}}

// jxlSize reads height and width.
func (r *bitReader) jxlSize() (height, width int64) {
	small := r.bits(1) == 1
	side := func() int64 {
		if small {
			return 8 * (1 + r.bits(5))
		}
		return r.number([4]choice{{1, 9}, {1, 13}, {1, 18}, {1, 30}})
	}
	height = side()
	if ratio := jxlRatios[r.bits(3)]; ratio[0] > 0 {
		return height, height * ratio[0] / ratio[1]
	}
	return height, side()
}

// jxlExtraChannels reads the metadata up to the number of channels in addition to the
// colors.
func (r *bitReader) jxlExtraChannels() int64 {
	if r.bits(1) == 1 { // all values are the defaults
		return 0
	}
	if r.bits(1) == 1 {
		r.jxlOptional()
	}
	if r.bits(1) == 1 { // samples are floats
		r.number([4]choice{{32, 0}, {16, 0}, {24, 0}, {1, 6}})
		r.bits(4)
	} else {
		r.number([4]choice{{8, 0}, {10, 0}, {12, 0}, {1, 6}})
	}
	r.bits(1) // buffers of 16 bits suffice
	return r.number([4]choice{{0, 0}, {1, 0}, {2, 4}, {1, 12}})
}

// jxlOptional reads orientation, intrinsic size, preview and animation.
func (r *bitReader) jxlOptional() {
	r.bits(3)
	if r.bits(1) == 1 {
		r.jxlSize()
	}
	if r.bits(1) == 1 {
		r.jxlPreview()
	}
	if r.bits(1) == 1 {
		r.number([4]choice{{100, 0}, {1000, 0}, {1, 10}, {1, 30}})
		r.number([4]choice{{1, 0}, {1001, 0}, {1, 8}, {1, 10}})
		r.number([4]choice{{0, 0}, {0, 3}, {0, 16}, {0, 32}})
		r.bits(1)
	}
}

// jxlPreview reads the size of a preview.
func (r *bitReader) jxlPreview() {
	sizes := [4]choice{{1, 6}, {65, 8}, {321, 10}, {1345, 12}}
	if r.bits(1) == 1 {
		sizes = [4]choice{{16, 0}, {32, 0}, {1, 5}, {33, 9}}
	}
	r.number(sizes)
	if r.bits(3) == 0 {
		r.number(sizes)
	}
}
