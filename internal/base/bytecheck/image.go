package bytecheck

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"millrace"
	"millrace/dtype"
)

// formats are the formats that TensorFlow's decoders accept, by the first bytes of an
// image. Every decoder accepts more than one of them. Each reader stops where the bytes
// end or do not match the format: TensorFlow stops there too.
var formats = []struct {
	magic string
	read  func(b []byte, p *picture)
}{
	{"\xff\xd8\xff", readJPEG},
	{"\x89PNG\r\n\x1a\n", readPNG},
	{"GIF8", readGIF},
	{"BM", readBMP},
	{"RIFF", readWebP},
	{jxlStream, readJXL},
	{jxlContainer, readJXL},
}

// images checks images for the memory of their pixels, and for one kind of BMP that
// ends the process.
func (s Spec) images(elements [][]byte) (int, error) {
	for i, b := range elements {
		if err := s.topDown(b); err != nil {
			return i, err
		}
		for _, f := range formats {
			if !bytes.HasPrefix(b, []byte(f.magic)) {
				continue
			}
			p := picture{limit: s.limit()}
			f.read(b, &p)
			if err := s.picture(&p, b); err != nil {
				return i, err
			}
			break
		}
	}
	return 0, nil
}

// picture compares the memory that an image takes with the limit.
func (s Spec) picture(p *picture, b []byte) error {
	each, frames := int64(1), p.frames
	if s.DType != dtype.Uint8 && s.DType != 0 {
		each = int64(s.DType.Size()) + 1 // the bytes are decoded first, and converted
	}
	if s.Channels > 0 {
		p.channels = s.Channels
	}
	if s.First {
		frames = min(frames, 1)
	}
	width, height := p.width, p.height
	if r := s.Ratio; r > 1 {
		width, height = (width+r-1)/r, (height+r-1)/r
	}
	if made := product(width, height, p.channels, frames, each); made > s.limit() || p.work > s.limit()-made {
		return refused(millrace.ErrLimit, "a %s of %d bytes: %d x %d pixels, %d channels, %d frames take %d bytes, more than %d",
			p.format, len(b), p.width, p.height, p.channels, p.frames, saturate(uint64(made)+uint64(p.work)), s.limit())
	}
	return nil
}

// Offsets of width, height and bits per pixel in the header of a BMP. The height is
// negative where the first row is the top one.
const (
	bmpWidth  = 18
	bmpHeight = 22
	bmpBits   = 28
)

// topDown refuses a BMP whose top row comes first. DecodeImage of another dtype than
// uint8 allocates a buffer of a BMP's height times its width, without a check of the
// sign. A negative size ends the process.
func (s Spec) topDown(b []byte) error {
	if s.DType == 0 || s.DType == dtype.Uint8 || !bytes.HasPrefix(b, []byte("BM")) || len(b) < bmpHeight+4 {
		return nil
	}
	if height := int32(binary.LittleEndian.Uint32(b[bmpHeight:])); height < 0 {
		return refused(millrace.ErrSchema, "a BMP of height %d, top row first: TensorFlow decodes it to uint8 alone, not to %v", height, s.DType)
	}
	return nil
}

// readBMP reads the header of a BMP. TensorFlow compares its size with the bytes.
func readBMP(b []byte, p *picture) {
	if len(b) < bmpBits+2 {
		return
	}
	width := int64(int32(binary.LittleEndian.Uint32(b[bmpWidth:])))
	height := int64(int32(binary.LittleEndian.Uint32(b[bmpHeight:])))
	if width <= 0 || width*max(height, -height) > int64(len(b)) {
		return // TensorFlow refuses it
	}
	p.format, p.width, p.height, p.channels, p.frames = "BMP", width, max(height, -height), int64(b[bmpBits])/8, 1
}

// picture has the values claimed by an image's header.
type picture struct {
	format        string
	width, height int64
	channels      int64
	frames        int64
	work          int64 // bytes of memory in addition to the tensor
	limit         int64 // a reader may stop counting there
}

// product multiplies numbers that are not negative. It returns the largest number on
// overflow.
func product(numbers ...int64) int64 {
	all := uint64(1)
	for _, n := range numbers {
		if n <= 0 {
			return 0
		}
		over, low := bits.Mul64(all, uint64(n))
		if over != 0 {
			low = math.MaxInt64
		}
		all = uint64(saturate(low))
	}
	return int64(all)
}

// saturate returns n, or the largest int64 if n is larger.
func saturate(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
