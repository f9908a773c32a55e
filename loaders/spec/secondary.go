package spec

import (
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// SecondaryConfig is one entry of "secondary_features": a tensor that is computed instead
// of read.
type SecondaryConfig struct {
	decl.Object
	ToName string `json:"to_name" decl:"required,nonempty,label=tensor" doc:"The tensor's name in the pipeline and for the model."`
	Type   string `json:"type" decl:"required" doc:"How the tensor is made."`
	Args   any    `json:"args" decl:"variant=type" doc:"The arguments; type says which there are."` // *ConstArgs, *LengthsArgs or *MaskArgs
}

// Variants lists the arguments of each type of secondary feature.
func (*SecondaryConfig) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: "const", New: func() any { return new(ConstArgs) }, Doc: "A tensor with one value everywhere."},
		{Name: string(Lengths), New: func() any { return new(LengthsArgs) }, Doc: "The true size of a primary feature along an axis, before padding, as int64."},
		{Name: string(Mask), New: func() any { return new(MaskArgs) }, Doc: "bool along an axis of a primary feature: true where it holds data, false where it is padded."},
	}
}

// ConstArgs are the arguments of a secondary feature of type const.
type ConstArgs struct {
	decl.Object
	Shape decl.Either[[]int64, string] `json:"shape" decl:"required,most=253,items.min=0,items.limit=2147483648" doc:"The shape, without the batch dimension, or the to_name of a primary feature whose shape to copy."`
	DType string                       `json:"dtype" decl:"required" doc:"TensorFlow's name of a data type, or the to_name of a primary feature whose data type to copy."`
	Value Value                        `json:"value" decl:"" doc:"The value, which must be exactly a value of the dtype. The default is 0, false or the empty string."`
}

// secondaryPart checks the tensors that are made instead of read.
type secondaryPart struct{ *checker }

// secondaries makes the tensors of the secondary features. They see the
// primaries as they are before the processing steps.
func (c secondaryPart) secondaries() {
	for i := range c.args.SecondaryFeatures {
		s := &c.args.SecondaryFeatures[i]
		if s.At == nil || s.Bad("to_name") {
			continue
		}
		t := c.addTensor(s.At, s.ToName, nil)
		if t == nil {
			t = &tensorState{} // the name is taken; check the arguments anyway
		}
		t.made = true
		switch args := s.Args.(type) {
		case *ConstArgs:
			if args.At != nil {
				c.constant(args, t)
			}
		case *LengthsArgs, *MaskArgs:
			measurePart(c).startMeasure(args, t)
		}
	}
}

// constant makes the tensor of a const.
func (c secondaryPart) constant(a *ConstArgs, t *tensorState) {
	con := Const{To: t.Name}
	c.constType(a, t)
	con.ShapeFrom = c.constShape(a, t)
	con.DType, con.Shape = t.DType, t.Shape
	if t.typed {
		con.Value, _ = c.value(a.Key("value"), t.DType, a.Value)
	}
	c.spec.Secondaries = append(c.spec.Secondaries, con)
}

// constType finds the dtype of a const: the named dtype, or the dtype of a named primary.
func (c secondaryPart) constType(a *ConstArgs, t *tensorState) {
	if a.Bad("dtype") {
		return
	}
	if d, ok := processing.Loadable(a.DType); ok {
		t.DType, t.typed = d, true
		return
	}
	if from := c.primary(a.DType); from != nil {
		t.DType, t.typed = from.DType, from.typed
		return
	}
	d := c.inConfig.Report(a.Key("dtype"), "no dtype or primary feature named %s", decl.Quote(a.DType))
	if c.inConfig.Many() {
		return
	}
	if d.Hint = c.notPrimary(a.DType, processing.LoadableNames()); d.Hint == "" {
		d.Hint = processing.DTypeHint(a.DType)
	}
}

// constShape finds the shape of a const: the shape in the config, or the shape of a named
// primary. In the second case it returns that name.
func (c secondaryPart) constShape(a *ConstArgs, t *tensorState) (from string) {
	switch {
	case a.Bad("shape"):
		return ""
	case a.Shape.A != nil:
		t.Shape, t.shaped = *a.Shape.A, true
		return ""
	case a.Shape.B == nil:
		return ""
	}
	from = *a.Shape.B
	if p := c.primary(from); p != nil {
		t.Shape, t.shaped, t.sequence = slices.Clone(p.Shape), p.shaped, p.sequence
		return from
	}
	d := c.inConfig.Report(a.Key("shape"), "no primary feature named %s", decl.Quote(from))
	if c.inConfig.Many() {
		return ""
	}
	if d.Hint = c.notPrimary(from, nil); d.Hint == "" {
		d.Hint = nearOrAll("primary features", from, c.primaryNames())
	}
	return ""
}
