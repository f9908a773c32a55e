package corrupt

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
)

// dot is an image of one pixel.
var dot = image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black, color.White})

// written returns the output of an encoder. Writing to a buffer cannot fail.
func written(encode func(w *bytes.Buffer) error) []byte {
	var w bytes.Buffer
	if err := encode(&w); err != nil {
		panic(err)
	}
	return w.Bytes()
}

// PNG is an image of one pixel whose header claims another size, with chunks before the
// pixel data.
func PNG(width, height uint32, chunks ...[]byte) []byte {
	b := written(func(w *bytes.Buffer) error { return png.Encode(w, dot) })
	const header, size, end = 8, 13, 8 + 8 + 13 + 4
	binary.BigEndian.PutUint32(b[header+8:], width)
	binary.BigEndian.PutUint32(b[header+12:], height)
	binary.BigEndian.PutUint32(b[header+8+size:], crc32.ChecksumIEEE(b[header+4:header+8+size]))
	return slices.Concat(b[:end], slices.Concat(chunks...), b[end:])
}

// PNGText is a chunk of a PNG with zeros, compressed.
func PNGText(zeros int) []byte {
	data := append([]byte("zTXtk\x00\x00"), Zlib(make([]byte, zeros))...)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)-4))
	return binary.BigEndian.AppendUint32(append(b, data...), crc32.ChecksumIEEE(data))
}

// JPEG is an image of one pixel whose header claims another size, and progressive scans
// if requested.
func JPEG(width, height uint16, progressive bool) []byte {
	b := written(func(w *bytes.Buffer) error { return jpeg.Encode(w, image.NewRGBA(dot.Rect), nil) })
	frame := bytes.Index(b, []byte{0xff, 0xc0})
	if progressive {
		b[frame+1] = 0xc2
	}
	binary.BigEndian.PutUint16(b[frame+5:], height)
	binary.BigEndian.PutUint16(b[frame+7:], width)
	return b
}

// GIF is an animation of frames of one pixel, the last of which claims another size.
func GIF(frames int, width, height uint16) []byte {
	b := written(func(w *bytes.Buffer) error {
		return gif.EncodeAll(w, &gif.GIF{Image: slices.Repeat([]*image.Paletted{dot}, frames), Delay: make([]int, frames)})
	})
	last := bytes.LastIndex(b, []byte{0x2c, 0, 0, 0, 0})
	binary.LittleEndian.PutUint16(b[last+5:], width)
	binary.LittleEndian.PutUint16(b[last+7:], height)
	return b
}

// WebP is the header of a lossless image that claims a size of up to 2^14.
func WebP(width, height uint32) []byte {
	size := binary.LittleEndian.AppendUint32([]byte("\x2f"), width-1|(height-1)<<14)
	return slices.Concat([]byte("RIFF\x14\x00\x00\x00WEBPVP8L\x08\x00\x00\x00"), size, make([]byte, 3))
}

// JXL is a header of a JPEG XL that claims a size of up to 2^30, in a container of two
// parts if requested.
func JXL(width, height uint64, parts bool) []byte {
	const long, defaults = 3, 3 // the size has 30 bits; nothing else is there
	b, used := []byte("\xff\x0a"), 0
	for _, f := range [][2]uint64{{0, 1}, {long, 2}, {height - 1, 30}, {0, 3}, {long, 2}, {width - 1, 30}, {defaults, 2}, {0, 58}} {
		for i := range f[1] {
			if used%8 == 0 {
				b = append(b, 0)
			}
			b[len(b)-1] |= byte(f[0]>>i&1) << (used % 8)
			used++
		}
	}
	if !parts {
		return b
	}
	box := func(kind string, n uint32, data []byte) []byte {
		head := binary.BigEndian.AppendUint32(nil, uint32(12+len(data)))
		return slices.Concat(head, []byte(kind), binary.BigEndian.AppendUint32(nil, n), data)
	}
	return slices.Concat([]byte("\x00\x00\x00\x0cJXL \r\n\x87\n"), box("jxlp", 0, b[:5]), box("jxlp", 1, b[5:]))
}

// WAV is a sound without samples that claims a number of channels.
func WAV(channels uint16) []byte {
	b := []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 2*uint32(channels))
	b = binary.LittleEndian.AppendUint16(b, 2*channels)
	return append(b, "\x10\x00data\x00\x00\x00\x00"...)
}

// GzipNamed is a gzip stream with a name, in members of the same zeros.
func GzipNamed(name string, zeros, members int) []byte {
	one := written(func(w *bytes.Buffer) error {
		z := gzip.NewWriter(w)
		z.Name = name
		z.Write(make([]byte, zeros))
		return z.Close()
	})
	return bytes.Repeat(one, members)
}

// ZlibCut is a zlib stream of zeros without its end.
func ZlibCut(zeros int) []byte {
	b := written(func(w *bytes.Buffer) error {
		z := zlib.NewWriter(w)
		z.Write(make([]byte, zeros))
		return z.Close()
	})
	return b[:len(b)-6]
}
