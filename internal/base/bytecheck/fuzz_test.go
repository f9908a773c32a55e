package bytecheck_test

import (
	"maps"
	"slices"
	"testing"

	"millrace/dtype"
	"millrace/internal/base/bytecheck"
	"millrace/internal/test/corrupt"
)

// seeds are bytes of all formats.
var seeds = [][]byte{
	corrupt.PNG(1, 1, corrupt.PNGText(100)), corrupt.JPEG(1, 1, true), corrupt.GIF(2, 1, 1), corrupt.WebP(16, 16), corrupt.TopDownBMP(),
	corrupt.WAV(2), corrupt.GzipNamed("name", 100, 2), corrupt.ZlibCut(100), corrupt.LyingVariant(), corrupt.Floats(1, 2), corrupt.JXL(100, 1<<20, false), corrupt.JXL(100, 100, true),
}

// FuzzCheck gives bytes to all checks: none panics or reports an index out of range.
func FuzzCheck(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	operations := slices.Sorted(maps.Keys(bytecheck.Bounds()))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, op := range operations {
			for _, compression := range []string{"", "ZLIB", "GZIP", "ZSTD"} {
				spec := bytecheck.Spec{Op: op, DType: dtype.Float, Limit: 1000, Compression: compression, Channels: -1, Samples: -1}
				if !bytecheck.Checked(op) || compression != "" && op != "DecodeCompressed" {
					continue
				}
				if at, err := spec.Check([][]byte{b, b, b}); err != nil && (at < 0 || at > 2) {
					t.Errorf("%s: element %d: %v", op, at, err)
				}
			}
		}
	})
}

// With a limit of one byte, the matching operation refuses every seed with more
// content.
func TestSmallLimits(t *testing.T) {
	for i, op := range []string{"DecodePng", "DecodeJpeg", "DecodeGif", "DecodeWebP", "DecodeBmp", "", "DecodeCompressed", "DecodeCompressed"} {
		compression := map[int]string{6: "GZIP", 7: "ZLIB"}[i]
		spec := bytecheck.Spec{Op: op, Limit: 1, Compression: compression}
		if op == "" {
			continue
		}
		if _, err := spec.Check([][]byte{seeds[i]}); err == nil {
			t.Errorf("%s takes %q", op, seeds[i])
		}
		spec.Limit = 1 << 20
		if _, err := spec.Check([][]byte{seeds[i]}); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}
