package loaders

import (
	"fmt"
	"slices"

	"millrace/loaders/decl"
	"millrace/loaders/diag"
	"millrace/tfbridge"
)

// SecondaryConfig is one entry of "secondary_features": a tensor that is made,
// not read.
type SecondaryConfig struct {
	decl.Object
	ToName string `json:"to_name" decl:"required,nonempty,label=tensor" doc:"The tensor's name in the pipeline and for the model."`
	Type   string `json:"type" decl:"required" doc:"How the tensor is made."`
	Args   any    `json:"args" decl:"variant=type" doc:"Arguments of the type."` // *ConstArgs
}

// Variants lists the arguments of each type of secondary feature.
func (*SecondaryConfig) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: "const", New: func() any { return new(ConstArgs) }, Doc: "A tensor with one value everywhere."},
	}
}

// ConstArgs are the arguments of a secondary feature of type const.
type ConstArgs struct {
	decl.Object
	Shape decl.Either[[]int64, string] `json:"shape" decl:"required,most=253,items.min=0,items.limit=2147483648" doc:"Shape without the batch dimension, or the to_name of the primary feature whose shape to copy."`
	DType string                       `json:"dtype" decl:"required" doc:"TensorFlow's name of a type, or the to_name of the primary feature whose type to copy."`
	Value Value                        `json:"value" decl:"" doc:"The value, exactly one of the dtype. Absent: 0, false or the empty string."`
}

// secondaries makes the tensors of the secondary features. They see the
// primaries as they are before the processing steps.
func (c *checker) secondaries() {
	primaries := c.tensorNames()
	for i := range c.args.SecondaryFeatures {
		s := &c.args.SecondaryFeatures[i]
		if s.At == nil || s.Bad("to_name") {
			continue
		}
		t := c.addTensor(s.At, s.ToName, nil)
		args, ok := s.Args.(*ConstArgs)
		if !ok || args.At == nil {
			continue
		}
		con := Const{To: s.ToName}
		made := &tensorState{}
		c.constType(args, made, primaries)
		c.constShape(args, made, &con, primaries)
		if made.typed {
			con.DType = made.DType
			con.Value, _ = c.value(args.Key("value"), made.DType, args.Value)
		}
		if t != nil {
			t.typed, t.shaped, t.DType, t.Shape = made.typed, made.shaped, made.DType, made.Shape
			con.Shape = t.Shape
			c.plan.Secondaries = append(c.plan.Secondaries, con)
		}
	}
}

// constType finds the dtype of a const: that of a name, or a primary's.
func (c *checker) constType(a *ConstArgs, made *tensorState, primaries []string) {
	if a.Bad("dtype") {
		return
	}
	if d, ok := loadable(a.DType); ok {
		made.DType, made.typed = d, true
		return
	}
	if t, ok := c.byName[a.DType]; ok && t.primary != nil {
		made.DType, made.typed = t.DType, t.typed
		return
	} else if ok && c.isPrimary(a.DType, primaries) {
		return // its feature is unknown
	}
	d := c.inConfig.Report(a.Key("dtype"), "no dtype or primary feature named %s", decl.Quote(a.DType))
	d.Hint = c.notPrimary(a.DType, append(loadableNames(), primaries...))
	if d.Hint == "" {
		d.Hint = dtypeHint(a.DType)
	}
}

// constShape finds the shape of a const: as written, or a primary's.
func (c *checker) constShape(a *ConstArgs, made *tensorState, con *Const, primaries []string) {
	switch {
	case a.Bad("shape"):
		return
	case a.Shape.A != nil:
		made.Shape, made.shaped = *a.Shape.A, true
		return
	case a.Shape.B == nil:
		return
	}
	from := *a.Shape.B
	if c.isPrimary(from, primaries) {
		t := c.byName[from]
		con.ShapeFrom = from
		made.Shape, made.shaped = append([]int64{}, t.Shape...), t.shaped
		return
	}
	d := c.inConfig.Report(a.Key("shape"), "no primary feature named %s", decl.Quote(from))
	if d.Hint = c.notPrimary(from, primaries); d.Hint == "" {
		d.Hint = nearOrAll("primary features", from, primaries)
	}
}

// isPrimary reports whether a tensor comes from a primary feature, known in
// the manifest or not.
func (c *checker) isPrimary(name string, primaries []string) bool {
	_, ok := c.byName[name]
	return ok && slices.Contains(primaries, name)
}

// notPrimary says why a name is not one of a primary feature, or what was
// meant.
func (c *checker) notPrimary(name string, known []string) string {
	if to := c.renamed(name); to != "" {
		return fmt.Sprintf("the feature of that name is the tensor %q here", to)
	}
	if _, ok := c.byName[name]; ok {
		return "that is a secondary feature; only primary ones can be copied"
	}
	return diag.DidYouMean(name, known)
}

// zeroValue returns what a tensor holds if no value is given.
func zeroValue(d tfbridge.DataType) any {
	switch valueKind(d) {
	case signedValue:
		return int64(0)
	case unsignedValue:
		return uint64(0)
	case boolValue:
		return false
	case stringValue:
		return ""
	case complexValue:
		return complex128(0)
	}
	return float64(0)
}
