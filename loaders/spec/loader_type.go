package spec

import "millrace/loaders/decl"

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

// loaderType declares a loader type: what its arguments are and how they are
// checked. A new type is one more entry of loaderTypes, and a file that
// implements loaderArgs.
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
	loaderType() LoaderType
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
