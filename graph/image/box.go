package image

import "millrace/tfbridge"

// Box is a part of an image, in fractions of its height and width from 0 to 1. The
// two ends may be in either order, and may lie outside the image.
type Box struct{ Top, Left, Bottom, Right float32 }

// boxes returns boxes in TensorFlow's format.
func boxes(all []Box) [][]float32 {
	rows := make([][]float32, len(all))
	for k, b := range all {
		rows[k] = []float32{b.Top, b.Left, b.Bottom, b.Right}
	}
	return rows
}

// CropAndResize adds a CropAndResize. It cuts boxes out of the image and resizes each
// to height by width pixels. The result is a batch of float32. If the image is a
// batch, the boxes are cut out of its first image. It is tf.image.crop_and_resize
// with bilinear resizing.
func (i Image) CropAndResize(parts []Box, height, width int64) Image {
	if i.ok() && (len(parts) == 0 || height <= 0 || width <= 0 || height > 1<<30 || width > 1<<30) {
		return i.fail("CropAndResize", "%d boxes of %d by %d", len(parts), height, width)
	}
	b := i
	if i.t.Shape().NumDimensions() == 3 {
		b = Image{i.t.ExpandDims(0)}
	}
	if !b.ok() {
		return b
	}
	return b.op("CropAndResize", nil, b.constant(boxes(parts)), b.constant(make([]int32, len(parts))),
		b.constant([]int32{int32(height), int32(width)}))
}

// DrawBoundingBoxes adds a DrawBoundingBoxesV2. It draws lines around boxes, the same
// in every image of a batch. It uses the colours in turn; a colour has a value for
// each channel. Without colours TensorFlow chooses them. The image must be float32.
func (i Image) DrawBoundingBoxes(around []Box, colors [][]float32) Image {
	if i.ok() && len(around) == 0 {
		return i
	}
	return i.batched("DrawBoundingBoxes", func(b Image) Image {
		s := b.t.Scope()
		n := b.t.Shape().Size(0)
		all := s.Const([][][]float32{boxes(around)})
		if n != 1 {
			count := b.batchSize()
			all = s.Op1("Tile", nil, all, s.Op1("ConcatV2", nil,
				tfbridge.OutputList{count, s.Const([]int64{1, 1})}, s.Const(int32(0))))
		}
		if len(colors) == 0 {
			return b.op("DrawBoundingBoxes", nil, all)
		}
		return b.op("DrawBoundingBoxesV2", nil, all, b.constant(colors))
	})
}

// batchSize returns the number of images as a vector of one int64.
func (i Image) batchSize() tfbridge.Output {
	s := i.t.Scope()
	shape := s.Op1("Shape", map[string]any{"out_type": tfbridge.Int64}, i.Output())
	return s.Op1("Slice", nil, shape, s.Const([]int64{0}), s.Const([]int64{1}))
}

// Point is a position in an image: 0 is the centre, -1 and 1 are the edges.
type Point struct{ Y, X float32 }

// ExtractGlimpse adds an ExtractGlimpseV2. It cuts out height by width pixels around a
// point, with noise outside of the image. The image must be float32.
func (i Image) ExtractGlimpse(height, width int64, center Point) Image {
	if i.ok() && (height <= 0 || width <= 0 || height > 1<<30 || width > 1<<30) {
		return i.fail("ExtractGlimpse", "%d by %d is no size", height, width)
	}
	return i.batched("ExtractGlimpse", func(b Image) Image {
		s := b.t.Scope()
		at := s.Op1("Tile", nil, s.Const([][]float32{{center.Y, center.X}}),
			s.Op1("ConcatV2", nil, tfbridge.OutputList{b.batchSize(), s.Const([]int64{1})}, s.Const(int32(0))))
		return b.op("ExtractGlimpseV2", nil, b.constant([]int32{int32(height), int32(width)}), at)
	})
}
