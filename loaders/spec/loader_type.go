package spec

import (
	"millrace/loaders/decl"
	"millrace/loaders/loadertype"
	"millrace/loaders/processing"
)

// LoaderType says how records become examples. Its values are those of the
// key "type" in a loader config.
type LoaderType string

// The loader types.
const (
	Independent        LoaderType = "independent"         // each record is an example
	ContinuousSequence LoaderType = "continuous_sequence" // windows of the joined records of a file
	DiscreteSequence   LoaderType = "discrete_sequence"   // windows of whole records of a file
	ChunkedSequence    LoaderType = "chunked_sequence"    // chunks of records, batched by a budget of frames
)

// loaderType declares a loader type: what its arguments are and how they are checked. A new
// type is a file of package loadertype and one more entry of loaderTypes, with [own] of its
// arguments.
type loaderType struct {
	name    LoaderType
	doc     string
	newArgs func() loaderArgs
}

// loaderTypes are the loader types, in the order that schemas list them.
var loaderTypes = []loaderType{
	{Independent, "Every record is an example, independent of all others.",
		func() loaderArgs { return new(IndependentArgs) }},
	{ContinuousSequence, "The records of a file, joined, are one long sequence; examples are windows of it.",
		func() loaderArgs { return new(ContinuousArgs) }},
	{DiscreteSequence, "The records of a file are a sequence of subsequences; examples are windows of whole records.",
		func() loaderArgs { return new(DiscreteArgs) }},
	{ChunkedSequence, "Every record is a sequence of frames; sequences are cut into chunks, and batched by a budget of frames.",
		func() loaderArgs { return new(ChunkedArgs) }},
}

// loaderArgs are the arguments of one loader type, a pointer to a struct that
// embeds [CommonArgs].
type loaderArgs interface {
	common() *CommonArgs
	examples() *ExampleArgs // nil for a type whose batches have no number of examples
	recordOrder() *OrderArgs
	padding() *decl.Either[bool, []PaddingConfig]

	// check reports problems of the arguments that only this type has. It changes
	// the primary tensors into what the secondary features and the processing
	// steps see.
	check(c *checker)

	// rows changes the tensors after the processing steps into the tensors of a row
	// of a batch.
	rows(c *checker)
}

// ownArgs are the arguments of a loader type of package loadertype: the keys in T, and those
// that all types of examples share.
type ownArgs[T any, A interface {
	*T
	loadertype.Args
}] struct {
	ExampleArgs
	OrderArgs
	Own T `json:"-" decl:"inline"`
}

// own makes the arguments of a loader type of package loadertype.
func own[T any, A interface {
	*T
	loadertype.Args
}]() loaderArgs {
	return new(ownArgs[T, A])
}

// check has the type check its keys.
func (a *ownArgs[T, A]) check(c *checker) {
	orderPart{c}.checkOrder(&a.OrderArgs)
	tensors := make([]processing.Tensor, len(c.tensors))
	for i, t := range c.tensors {
		tensors[i] = t.TensorSpec
	}
	c.spec.Special = A(&a.Own).Check(&loadertype.Context{Object: &a.Object, Reporter: c.inConfig, Tensors: tensors})
}

// own returns the keys that only the type has.
func (a *ownArgs[T, A]) own() any { return &a.Own }
