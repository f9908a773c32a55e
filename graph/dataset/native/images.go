package native

import (
	"millrace"
	"millrace/graph"
	"millrace/internal/base/bytecheck"
	"millrace/tfbridge"
)

// Images describes what [Images.Build] makes of the bytes of images.
type Images struct {
	Channels int64 // 1 or 3
	Limit    int64 // bytes that a decoded image may take; 0 means the default

	// Scale and Ratio are the least and the greatest share of an image that a part is drawn
	// from, and its ratio of width and height. Nil: the image as a whole.
	Scale, Ratio []float32

	Size   [2]int64 // to which the part is resized: height and width
	Window [4]int64 // the part of the resized image that is made: top, left, height, width

	// Augment is what is drawn of the resized image, in order: "rows" and "columns" reverse an axis by even
	// chances, and "brightness" adds a number from -MaxDelta up to MaxDelta to all values. Brightness is
	// there once at most, and before Change.
	Augment  []string
	MaxDelta float32

	// Change is what is computed of each value x: "", "normalize", (x - First) / Second, or
	// "scale", x * First + Second. Both have a number, or one for each channel.
	Change        string
	First, Second []float32
}

// Draws returns how many pairs of seeds an image needs: for the part, and for each of Augment.
func (m *Images) Draws() int {
	n := len(m.Augment)
	if m.Scale != nil {
		n++
	}
	return n
}

// Build decodes a vector of images, and makes a batch of them of shape [images, height, width,
// channels], float32. The values equal TensorFlow's DecodeImage,
// StatelessSampleDistortedBoundingBox, ResizeBilinear with half_pixel_centers, ReverseV2 and
// arithmetic, bit for bit on amd64. seeds are Draws tensors of shape [images, 2], int64. step is for
// messages. Bytes that [CheckMedia] or the decoder refuses fail the run.
func (m *Images) Build(s *graph.Scope, step string, contents tfbridge.Output, seeds []tfbridge.Output) tfbridge.Output {
	limit := m.Limit
	if limit == 0 {
		limit = bytecheck.DefaultLimit
	}
	if len(seeds) != m.Draws() {
		s.UpdateErr(opImages, millrace.Errorf(millrace.ErrInternal, "%d pairs of seeds for %d draws", len(seeds), m.Draws()))
		return tfbridge.Output{}
	}
	all := s.Const([]int64{})
	if len(seeds) > 0 {
		all = graph.Pack(s, seeds, 0)
	}
	return s.Op1(opImages, attrs{
		"step": step, "channels": m.Channels, "limit": limit, "scale": floats(m.Scale), "ratio": floats(m.Ratio),
		"size": m.Size[:], "window": m.Window[:], "augment": append([]string{}, m.Augment...), "max_delta": m.MaxDelta,
		"change": m.Change, "first": floats(m.First), "second": floats(m.Second),
	}, contents, all)
}

// floats returns a list that is an attribute even when it is empty.
func floats(list []float32) []float32 { return append([]float32{}, list...) }
