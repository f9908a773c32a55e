package native

import (
	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/bytecheck"
	"millrace/tfbridge"
)

// CheckMedia returns images or sounds, a string tensor, as they are, or fails for those that must
// not be decoded: see package bytecheck, whose rules the operation follows. The decoder is
// DecodeImage or DecodeWav; step is for messages.
func CheckMedia(s *graph.Scope, step string, contents tfbridge.Output, spec *bytecheck.Spec) tfbridge.Output {
	d, limit := spec.DType, spec.Limit
	if d == 0 {
		d = dtype.Uint8
	}
	if limit == 0 {
		limit = bytecheck.DefaultLimit
	}
	return s.Op1(opCheckMedia, attrs{
		"step": step, "decoder": spec.Op, "dtype": d, "channels": spec.Channels, "first": spec.First, "limit": limit,
	}, contents)
}
