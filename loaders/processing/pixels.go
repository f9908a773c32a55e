package processing

import "millrace/graph/dataset/native"

/*
Images of a batch at once

The question: a step on an image is one to five operations of TensorFlow, and each of them moves an
image of floats through memory. Decoding a JPEG of 500 by 375 pixels takes 0.4 ms, and cropping,
resizing, mirroring and normalizing it 1.2 ms more, little of it arithmetic. Then the image is
copied into its batch.

The answer: one operation of ours makes all images of a batch, from their bytes to the rows of the
batch. It decodes with TensorFlow's kernels, and writes each row of pixels once. Steps that it can
carry out add themselves to its description, one after another. Where one of them cannot, all
steps are built of TensorFlow's operations, with the same values.
*/

// Images describes what the operation does.
type Images = native.Images

// PixelStep is a step that the operation for all images of a batch may carry out.
type PixelStep interface {
	Step

	// AddTo adds the step to what the operation does after the steps before. It returns false, and
	// changes nothing, if the operation cannot carry it out there.
	AddTo(m *Images) bool
}

// Pixels is the part of a step that is a [PixelStep]: a function, nil if it is not one.
type Pixels func(m *Images) bool

// AddTo calls the function.
func (p Pixels) AddTo(m *Images) bool { return p != nil && p(m) }

// Resized reports whether the operation has resized the image, so that values are float32 and
// the shape is known.
func Resized(m *Images) bool { return m.Size[0] > 0 }

// Resize adds the resize to a size, [height, width].
func Resize(m *Images, hw [2]int32) bool {
	if m.Channels == 0 || Resized(m) {
		return false
	}
	m.Size = [2]int64{int64(hw[0]), int64(hw[1])}
	m.Window = [4]int64{0, 0, m.Size[0], m.Size[1]}
	return true
}

// Change adds arithmetic of a kind with two numbers, or two for each channel.
func Change(m *Images, kind string, first, second []float64) bool {
	fits := func(n int) bool { return n == 1 || int64(n) == m.Channels }
	if !Resized(m) || m.Change != "" || !fits(len(first)) || !fits(len(second)) {
		return false
	}
	m.Change, m.First, m.Second = kind, singles(first), singles(second)
	return true
}

func singles(list []float64) (out []float32) {
	for _, x := range list {
		out = append(out, float32(x))
	}
	return out
}
