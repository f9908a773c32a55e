package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"millrace"
	"millrace/loaders/spec"
)

// wavFormat is the format of sounds, one per row. Samples are converted as by
// TensorFlow's DecodeWav: float32 of shape [samples, channels], integers scaled to -1
// to 1.
//
// A file consists of chunks. Their number and order is free, but fmt comes before data:
//
//	"RIFF" | size | "WAVE"
//	"fmt " | size | tag, channels, samples/s, bytes/s, bytes of a frame, bits, ...
//	"LIST" | size | who sang it, or anything else
//	"data" | size | frame 0: a sample for each channel | frame 1 | ...
var wavFormat = (&fileKind{
	name: "WAV", extensions: []string{".wav"},
	survey: surveyWAV, open: openWAV,
}).format()

// The columns of the content of a sound.
const (
	wavAudio = "audio"
	wavRate  = "sample_rate"
)

// The encodings of samples that are read.
const (
	wavInteger    = 1
	wavFloat      = 3
	wavExtensible = 0xfffe // the encoding follows later
)

// wavHeader has the contents of the chunks before the samples.
type wavHeader struct {
	tag, channels, bits uint16
	rate                uint32
	frames              int64
	data                int64 // offset of the samples
}

// maxWAVChunks is the maximum number of chunks to read: a file with holes may have any
// number.
const maxWAVChunks = 1 << 16

// sampleBytes returns the size of a sample.
func (h *wavHeader) sampleBytes() int64 { return int64(h.bits) / 8 }

func surveyWAV(path string) ([]Column, error) {
	f, _, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := readWAV(path, f)
	if err != nil {
		return nil, err
	}
	audio := Column{Name: wavAudio, Stored: spec.Float, DType: "float32", Shape: []int64{h.frames, int64(h.channels)}}
	return []Column{audio, scalar(wavRate, spec.Int, "int64")}, nil
}

func openWAV(path string) (content, error) {
	f, _, err := openInput(path)
	if err != nil {
		return content{}, err
	}
	defer f.Close()
	h, err := readWAV(path, f)
	if err != nil {
		return content{}, err
	}
	samples := make([]byte, h.frames*int64(h.channels)*h.sampleBytes())
	if _, err := f.ReadAt(samples, h.data); err != nil {
		return content{}, ioError(path, err)
	}
	return content{int64(len(samples)), func(v *values, c *Column) error {
		switch c.Name {
		case wavAudio:
			return v.samples(samples, h, c)
		case wavRate:
			return v.integer(int64(h.rate), c)
		}
		v.missing = true
		return nil
	}}, nil
}

// readWAV reads the chunks up to the samples, and checks that all samples exist.
func readWAV(path string, f inputFile) (*wavHeader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, ioError(path, err)
	}
	var riff [12]byte
	if _, err := f.ReadAt(riff[:], 0); err != nil || string(riff[:4]) != "RIFF" || string(riff[8:]) != "WAVE" {
		return nil, damaged(path, "WAV", errors.New("it does not begin with RIFF and WAVE"))
	}
	var h *wavHeader
	for at, chunks := int64(len(riff)), 0; ; chunks++ {
		if chunks == maxWAVChunks {
			return nil, damaged(path, "WAV", fmt.Errorf("the samples do not come within %d chunks", maxWAVChunks))
		}
		var chunk [8]byte
		if _, err := f.ReadAt(chunk[:], at); err != nil && err != io.EOF {
			return nil, ioError(path, err)
		} else if err != nil {
			return nil, wavTruncated(path, "the samples (chunk data) are missing")
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		at += int64(len(chunk))
		switch string(chunk[:4]) {
		case "fmt ":
			if h, err = readWAVFormat(path, io.NewSectionReader(f, at, size)); err != nil {
				return nil, err
			}
		case "data":
			if h == nil {
				return nil, damaged(path, "WAV", errors.New("the samples come before their format (chunk fmt)"))
			}
			if size == math.MaxUint32 { // written to a pipe: up to the end
				size = info.Size() - at
			}
			if at+size > info.Size() {
				return nil, wavTruncated(path, fmt.Sprintf("the header promises %d bytes of samples, and %d are there", size, info.Size()-at))
			}
			h.data, h.frames = at, size/(int64(h.channels)*h.sampleBytes())
			if err := checkRecord(floatSize * h.frames * int64(h.channels)); err != nil {
				return nil, dataError(path, "%w", err)
			}
			return h, nil
		}
		at += size + size%2 // chunks begin at even offsets
	}
}

func wavTruncated(path, text string) error {
	e := millrace.Errorf(millrace.ErrTruncated, "%s", text)
	e.File = path
	return e
}

// readWAVFormat reads the chunk fmt.
func readWAVFormat(path string, r *io.SectionReader) (*wavHeader, error) {
	var b [26]byte // up to the encoding of the extensible form
	n, err := r.ReadAt(b[:], 0)
	if n < 16 {
		return nil, damaged(path, "WAV", fmt.Errorf("the chunk fmt has %d bytes: %w", n, err))
	}
	word := func(at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
	h := &wavHeader{tag: word(0), channels: word(2), rate: binary.LittleEndian.Uint32(b[4:]), bits: word(14)}
	if h.tag == wavExtensible && n == len(b) {
		h.tag = word(24)
	}
	integer := h.tag == wavInteger && (h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32)
	if !integer && !(h.tag == wavFloat && (h.bits == 32 || h.bits == 64)) {
		return nil, dataError(path, "samples of %d bits in the encoding %d; convert reads integers (1) of 8, 16, 24 and 32 bits and floats (3) of 32 and 64", h.bits, h.tag)
	}
	if h.channels == 0 {
		return nil, damaged(path, "WAV", errors.New("it has no channel"))
	}
	return h, nil
}

// samples adds samples as numbers from -1 to 1.
func (v *values) samples(b []byte, h *wavHeader, c *Column) error {
	if c.Stored != spec.Float {
		return fmt.Errorf("samples are float32 and do not fit %s", c.DType)
	}
	size := int(h.sampleBytes())
	for ; len(b) >= size; b = b[size:] {
		if err := v.float(sample(b, h)); err != nil {
			return err
		}
	}
	return nil
}

// sample returns the first sample of b. Those of 8 bits are unsigned.
func sample(b []byte, h *wavHeader) float64 {
	switch {
	case h.tag == wavFloat && h.bits == 64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case h.tag == wavFloat:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case h.bits == 8:
		return (float64(b[0]) - 128) / (1 << 7)
	case h.bits == 16:
		return float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
	case h.bits == 24:
		top := uint32(b[0])<<8 | uint32(b[1])<<16 | uint32(b[2])<<24
		return float64(int32(top)) / (1 << 31)
	}
	return float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)
}
