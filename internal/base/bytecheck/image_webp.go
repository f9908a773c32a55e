package bytecheck

import "encoding/binary"

// webpAnimation is the flag of an animation in the chunk VP8X.
const webpAnimation = 2

// readWebP reads the chunks of a WebP. TensorFlow takes the size of the first of three
// kinds of chunks. An animation is drawn on canvases of four channels.
func readWebP(b []byte, p *picture) {
	if len(b) < 12 || string(b[8:12]) != "WEBP" {
		return
	}
	p.format, p.channels = "WebP", 4
	for b = b[12:]; len(b) >= 8; {
		kind, n, data := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:])), b[8:]
		switch {
		case kind == "ANMF":
			p.frames++
		case p.width > 0:
		case kind == "VP8X" && len(data) >= 10:
			p.width, p.height = 1+uint24(data[4:]), 1+uint24(data[7:])
			if data[0]&webpAnimation == 0 {
				p.frames = 1
			}
			p.work = product(2, 4, p.width, p.height)
		case kind == "VP8 " && len(data) >= 10:
			p.width, p.height = int64(binary.LittleEndian.Uint16(data[6:])&0x3fff), int64(binary.LittleEndian.Uint16(data[8:])&0x3fff)
			p.frames = 1
		case kind == "VP8L" && len(data) >= 5:
			size := int64(binary.LittleEndian.Uint32(data[1:]))
			p.width, p.height = 1+size&0x3fff, 1+size>>14&0x3fff
			p.frames, p.work = 1, product(4, p.width, p.height)
		}
		if n > int64(len(data)) {
			return
		}
		b = skip(data, int(n+n%2))
	}
}

// uint24 returns a number of three bytes.
func uint24(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
