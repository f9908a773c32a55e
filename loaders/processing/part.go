package processing

import "millrace/tfbridge"

/*
Decoding a part of an image

The question: a crop takes a part of an image, and the pixels around it were decoded for nothing.
random_resized_crop with its defaults uses half of an image on average.

The answer: TensorFlow's DecodeAndCropJpeg gives the pixels of a part and makes no others. A step
that cuts is two functions: one computes the part from the shape of the image, which stands in the
first bytes, and the other works on the part. Where no other step reads the image, the decoder gets
the first function, and the values are the same.
*/

// Part is a step that cuts a part out of an image, and works on the part only.
type Part struct {
	What string // its parameters
	To   Tensor // what it writes

	// Cut returns where the part begins and its size, of an image with a shape. All three are
	// int32 vectors of height, width and channels. A size of -1 is the rest of the axis.
	Cut func(b *Site, shape tfbridge.Output) (begin, size tfbridge.Output)

	// Rest makes the result of the part; nil: the part is the result.
	Rest func(b *Site, part tfbridge.Output) tfbridge.Output

	Pixels
}

// Explain returns the parameters.
func (p Part) Explain() string { return p.What }

// Out returns what the step writes.
func (p Part) Out() Tensor { return p.To }

// Build cuts the part out of an image.
func (p Part) Build(b *Site, in []tfbridge.Output) tfbridge.Output {
	begin, size := p.Cut(b, b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, in[0]))
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	return p.Finish(b, b.Op1("Slice", nil, in[0], begin, size))
}

// Finish makes the result of the part.
func (p Part) Finish(b *Site, part tfbridge.Output) tfbridge.Output {
	if p.Rest != nil {
		part = p.Rest(b, part)
	}
	return b.Shaped(part, p.To.Shape)
}

// Decoder is a step that decodes an image, and can decode a part of it alone.
type Decoder struct {
	Fold

	// Checked adds the check of the bytes; see [Site.Checked].
	Checked func(b *Site, bytes tfbridge.Output) tfbridge.Output

	// DecodePart decodes the part that cut returns of bytes that were checked. cut is the Cut of a [Part].
	DecodePart func(b *Site, bytes tfbridge.Output, cut func(shape tfbridge.Output) (begin, size tfbridge.Output)) tfbridge.Output
}
