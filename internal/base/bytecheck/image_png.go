package bytecheck

import (
	"bytes"
	"encoding/binary"
)

// pngSignature is the length of a PNG's signature.
const pngSignature = 8

// pngChannels are the channels of a PNG by its color type. A palette may be
// transparent.
var pngChannels = map[byte]int64{0: 1, 2: 3, 3: 4, 4: 2, 6: 4}

// readPNG reads the chunks of a PNG. libpng inflates texts and color profiles, and
// keeps them.
func readPNG(b []byte, p *picture) {
	p.format = "PNG"
	for b = b[pngSignature:]; len(b) >= 12; {
		n := int64(binary.BigEndian.Uint32(b))
		kind, rest := string(b[4:8]), b[8:]
		data := rest[:min(n, int64(len(rest)))]
		switch kind {
		case "IHDR":
			if p.frames == 0 && len(data) >= 10 {
				p.width, p.height = int64(binary.BigEndian.Uint32(data)), int64(binary.BigEndian.Uint32(data[4:]))
				p.channels, p.frames = pngChannels[data[9]], 1
			}
		case "zTXt", "iCCP", "iTXt":
			if p.work <= p.limit {
				p.work += pngInflated(kind, data, p.limit)
			}
		}
		if n+4 > int64(len(rest)) {
			return
		}
		b = rest[n+4:]
	}
}

// pngInflated returns the inflated size of a compressed text or color profile. A
// keyword and a zero byte precede it.
func pngInflated(kind string, data []byte, limit int64) int64 {
	_, after, ok := bytes.Cut(data, []byte{0})
	switch {
	case !ok || len(after) == 0:
		return 0
	case kind != "iTXt":
		return inflated(after[1:], limit, zlibHeader)
	case after[0] == 0 || len(after) < 2:
		return 0 // not compressed
	}
	_, after, _ = bytes.Cut(after[2:], []byte{0}) // the language
	_, after, _ = bytes.Cut(after, []byte{0})     // the translated keyword
	return inflated(after, limit, zlibHeader)
}
