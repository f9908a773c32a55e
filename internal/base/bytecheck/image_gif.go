package bytecheck

import "encoding/binary"

// The first bytes of the blocks of a GIF, and the sizes of its fixed parts.
const (
	gifExtension = 0x21
	gifImage     = 0x2c

	gifHeader     = 13
	gifDescriptor = 9
)

// readGIF reads the blocks of a GIF. The indices of all frames are in memory at the
// same time, one byte per pixel; the tensor has three bytes per pixel, and all frames
// have the size of the largest.
func readGIF(b []byte, p *picture) {
	p.format, p.channels = "GIF", 3
	b = skip(b, gifHeader+colorTable(b, 10))
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		switch {
		case kind == gifExtension && len(b) > 0:
			b = subBlocks(b[1:])
		case kind == gifImage && len(b) >= gifDescriptor:
			width, height := int64(binary.LittleEndian.Uint16(b[4:])), int64(binary.LittleEndian.Uint16(b[6:]))
			p.width, p.height = max(p.width, width), max(p.height, height)
			p.work = saturate(uint64(p.work) + uint64(width*height))
			p.frames++
			b = subBlocks(skip(b, gifDescriptor+colorTable(b, 8)+1)) // 1: the width of codes
		default:
			return
		}
	}
}

// colorTable returns the size of the color table that the flags at a position announce.
func colorTable(b []byte, flags int) int {
	if len(b) <= flags || b[flags]&0x80 == 0 {
		return 0
	}
	return 3 << (b[flags]&7 + 1)
}

// subBlocks returns the bytes after a sequence of length-prefixed blocks.
func subBlocks(b []byte) []byte {
	for len(b) > 0 && b[0] != 0 {
		b = skip(b, 1+int(b[0]))
	}
	return skip(b, 1)
}

// skip returns b without its first n bytes.
func skip(b []byte, n int) []byte { return b[min(n, len(b)):] }
