package image

import "millrace/tfbridge"

// JPEGOptions say how a JPEG is written. Nil and the zero value mean the
// defaults.
type JPEGOptions struct {
	Quality     int64 // 1 to 100; 0: 95
	Progressive bool
}

// EncodeJPEG adds an EncodeJpeg: the bytes of a JPEG as a string. The image is
// one, of uint8, grey or RGB.
func (i Image) EncodeJPEG(o *JPEGOptions) tfbridge.Output {
	if o == nil {
		o = &JPEGOptions{}
	}
	quality := o.Quality
	if quality == 0 {
		quality = 95
	}
	if i.ok() && (quality < 1 || quality > 100) {
		return i.fail("EncodeJPEG", "the quality is %d, and must be from 1 to 100", quality).Output()
	}
	return i.op("EncodeJpeg", map[string]any{"quality": quality, "progressive": o.Progressive}).Output()
}

// EncodePNG adds an EncodePng: the bytes of a PNG as a string. The image is of
// uint8 or uint16 with 1 to 4 channels; a batch gives a vector. Compression
// goes from 0 to 9; -1 is zlib's default.
func (i Image) EncodePNG(compression int64) tfbridge.Output {
	if i.ok() && (compression < -1 || compression > 9) {
		return i.fail("EncodePNG", "the compression is %d, and must be from -1 to 9", compression).Output()
	}
	return i.op("EncodePng", map[string]any{"compression": compression}).Output()
}
