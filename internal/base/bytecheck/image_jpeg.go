package bytecheck

import (
	"encoding/binary"
	"slices"
)

// Markers of a JPEG. Frames (SOF) have numbers from 0xc0 on.
const (
	jpegSOF  = 0xc0
	jpegDHT  = 0xc4
	jpegJPG  = 0xc8
	jpegDAC  = 0xcc
	jpegSOI  = 0xd8
	jpegSOS  = 0xda
	jpegRST0 = 0xd0
	jpegTEM  = 0x01
)

// jpegBlock is an upper bound of the multiple to which libjpeg rounds a width up: 8
// times a sampling factor of 4.
const jpegBlock = 32

// readJPEG reads the segments of a JPEG up to its first scan, as libjpeg does: it skips
// bytes that are not a marker. If the coefficients of an image are spread over several
// scans, all of them are kept in memory, two bytes each.
func readJPEG(b []byte, p *picture) {
	p.format = "JPEG"
	progressive, components := false, int64(0)
	for b = b[2:]; ; {
		marker, rest, ok := nextMarker(b)
		if !ok {
			return
		}
		b = rest
		if marker == jpegTEM || marker >= jpegRST0 && marker <= jpegSOI {
			continue // it has no length
		}
		if len(b) < 2 {
			return
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < 2 || n > len(b) {
			return
		}
		segment := b[2:n]
		b = b[n:]
		switch {
		case marker == jpegSOS && len(segment) > 0:
			if progressive || int64(segment[0]) < components {
				p.work = product(2, components, roundUp(p.width), roundUp(p.height))
			}
			return
		case isFrame(marker) && len(segment) >= 6:
			progressive = marker&3 == 2 // SOF2, SOF6, SOF10, SOF14
			components = int64(segment[5])
			p.height, p.width = int64(binary.BigEndian.Uint16(segment[1:])), int64(binary.BigEndian.Uint16(segment[3:]))
			p.channels, p.frames = min(components, 3), 1
		}
	}
}

// nextMarker returns the next marker and the bytes after it.
func nextMarker(b []byte) (byte, []byte, bool) {
	for {
		at := slices.Index(b, 0xff)
		if at < 0 {
			return 0, nil, false
		}
		for b = b[at:]; len(b) > 0 && b[0] == 0xff; {
			b = b[1:]
		}
		if len(b) == 0 {
			return 0, nil, false
		}
		if b[0] != 0 {
			return b[0], b[1:], true
		}
	}
}

// isFrame reports whether a marker begins a frame.
func isFrame(marker byte) bool {
	return marker >= jpegSOF && marker <= jpegSOF+15 && marker != jpegDHT && marker != jpegJPG && marker != jpegDAC
}

// roundUp returns the next multiple of jpegBlock.
func roundUp(n int64) int64 { return (n + jpegBlock - 1) / jpegBlock * jpegBlock }
