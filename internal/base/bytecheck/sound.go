package bytecheck

import (
	"encoding/binary"

	"millrace"
)

// The header of a WAV, and of each of its chunks.
const (
	wavHeader = 12
	wavChunk  = 8
)

// sounds checks sounds. A model may request a number of samples, and a WAV of 44 bytes
// may claim 32,767 channels, each with that many samples.
func sounds(s Spec, elements [][]byte) (int, error) {
	for i, b := range elements {
		has := wavChannels(b)
		channels, samples := has, int64(len(b))/max(2*has, 1)
		if s.Channels >= 0 {
			channels = s.Channels
		}
		if s.Samples >= 0 {
			samples = s.Samples
		}
		if made := product(channels, samples, 4); has > 0 && made > s.limit() && made > growth*int64(len(b)) {
			return i, refused(millrace.ErrLimit, "a WAV of %d bytes: %d samples of %d channels take %d bytes, more than %d", len(b), samples, channels, made, s.limit())
		}
	}
	return 0, nil
}

// wavChannels returns the channels that a WAV claims, 0 if TensorFlow refuses it. Other
// chunks may precede the format.
func wavChannels(b []byte) int64 {
	for b = skip(b, wavHeader); len(b) >= wavChunk+4; {
		if string(b[:4]) == "fmt " {
			return int64(binary.LittleEndian.Uint16(b[wavChunk+2:]))
		}
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if n > int64(len(b)-wavChunk) {
			return 0
		}
		b = b[wavChunk+n:]
	}
	return 0
}
