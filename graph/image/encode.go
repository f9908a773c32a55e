package image

import (
	"slices"

	"millrace/tfbridge"
)

// JPEGOptions are the options of EncodeJPEG. Nil and the zero value mean the defaults.
type JPEGOptions struct {
	Quality     int64 // 1 to 100; 0: 95
	Progressive bool
}

// EncodeJPEG adds an EncodeJpeg. It returns the bytes of a JPEG as a string. It takes
// one image of uint8, grey or RGB. For pixels from 0 to 1 use ConvertDType first; for
// floating-point pixels from 0 to 255, as Resize returns them, use SaturateCast.
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
	return i.bytes("EncodeJPEG", tfbridge.Uint8).op("EncodeJpeg", map[string]any{"quality": quality, "progressive": o.Progressive}).Output()
}

// EncodePNG adds an EncodePng. It returns the bytes of a PNG as a string, and a vector
// of strings for a batch. The image is uint8 or uint16 with 1 to 4 channels.
// Compression is from 0 to 9; -1 means zlib's default.
func (i Image) EncodePNG(compression int64) tfbridge.Output {
	if i.ok() && (compression < -1 || compression > 9) {
		return i.fail("EncodePNG", "the compression is %d, and must be from -1 to 9", compression).Output()
	}
	return i.bytes("EncodePNG", tfbridge.Uint8, tfbridge.Uint16).op("EncodePng", map[string]any{"compression": compression}).Output()
}

// bytes makes the scope fail for data types that a format does not support.
func (i Image) bytes(method string, fit ...tfbridge.DataType) Image {
	if !i.ok() || slices.Contains(fit, i.DataType()) {
		return i
	}
	return i.fail(method, "the pixels are of type %v, must be of %v; use ConvertDType if they are from 0 to 1, or SaturateCast if they are from 0 to 255",
		i.DataType(), fit)
}
