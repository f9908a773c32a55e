package processing

import (
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/tfbridge"
)

// Type declares a type of processing step.
type Type struct {
	Name string
	Doc  string // a sentence for the page of keys
	Args func() Args

	Reads   Reads
	Random  bool // it draws random numbers, so that it is carried out only in mode train unless "when" is given
	Decodes bool // it decodes bytes, which Go checks first: see [Site.Checked]
	Drops   bool // it removes the tensors that it reads, and writes none
	Moves   bool // it removes the tensor that it reads if it writes one of another name
	Filters bool // it writes no tensor: it is a [Filter]
	Named   bool // it needs "to_name", even with one tensor to read
}

// Reads is the number of tensors that a type of step reads.
type Reads int

// The numbers of tensors that steps read.
const (
	One     Reads = iota // "tensor"
	Several              // "tensors", in an order
	Any                  // "tensor" or "tensors"
	None                 // neither
)

// Args are the arguments of one type of step: a pointer to a struct that embeds
// decl.Object.
type Args interface {
	// Check reports mistakes in the arguments, by themselves and for the tensors of c.
	// It returns nil where the step cannot be carried out, or a tensor is not known.
	Check(c *Context) Step
}

// NamedAt is the name of a tensor, and where the config has it; At is nil for none.
type NamedAt struct {
	At   *jsonpos.Node
	Name string
}

// Reading is [Args] that name the tensors which the step reads, in place of "tensor" and
// "tensors".
type Reading interface {
	Args
	Tensors() []NamedAt
}

// Writing is [Args] that name the tensors which the step writes, in place of "to_name". Its step is a
// [MultiOutput].
type Writing interface {
	Args
	Writes() []NamedAt
}

// Filter is a step that writes no tensor: it keeps some examples.
type Filter interface {
	Step

	// Keep returns a bool, whether an example is kept, or with lead 1 a vector of them for
	// a batch. in are the tensors that the step reads, in order.
	Keep(b *Site, in []tfbridge.Output, lead int) tfbridge.Output
}

// Step is a checked step. It is read-only, and safe for concurrent use.
type Step interface {
	// Explain returns the parameters of the step. They identify it: two steps of a type
	// with the same parameters give the same values.
	Explain() string

	// Out returns data type and shape of the tensor that the step writes. Its name is not
	// set. -1 is an unknown dimension.
	Out() Tensor

	// Build adds the operations that carry out the step on one example, or with
	// [Elementwise] on a batch of them. in are the tensors that it reads, in order.
	Build(b *Site, in []tfbridge.Output) tfbridge.Output
}

// Elementwise is a step that computes each value of its result from one value of the
// one tensor that it reads, so that it also works on batches and joined rows.
type Elementwise interface {
	Step
	Elementwise() bool
}

// Prepared is a step that needs an operation outside of the function that carries it out, such as
// a table.
type Prepared interface {
	Step

	// Prepare adds what the step needs, once for a graph. Its result is Site.Prepared.
	Prepare(b *Site) any
}

// MultiOutput is what the check of a type returns whose steps write several tensors: a step for each.
type MultiOutput interface {
	Step

	// Each returns the steps, with the names of the tensors that they write. They are built one
	// after another, and read the same tensors.
	Each() []NamedStep

	// OfBatches reports whether the steps work on the batches that a run delivers. Then steps
	// after them do so, too.
	OfBatches() bool
}

// NamedStep is a step with the name of the tensor that it writes.
type NamedStep struct {
	To NamedAt
	Step
}

// IsElementwise reports whether a step is [Elementwise].
func IsElementwise(s Step) bool {
	e, ok := s.(Elementwise)
	return ok && e.Elementwise()
}

// Site is where a step is built: the graph of one example.
type Site struct {
	*graph.Scope
	Seed        tfbridge.Output // the pair of int64 that the step's draws follow from; set for random steps only
	Prepared    any             // what Prepare returned; set for a step that is [Prepared]
	Rows        tfbridge.Output // the number of examples, int64; set for a [Batched] step on a batch
	Portable    bool            // bytes are decoded without a check, which whoever runs the graph makes
	DecodeLimit int64           // bytes that a decoder may make of an example's bytes; 0 means the default
	NoGo        bool            // the graph runs in other processes, so that no operation may call Go

	// Once returns what the first call with a key and a tensor of this graph returned. Steps share
	// operations by it.
	Once func(key any, x tfbridge.Output, add func() []tfbridge.Output) []tfbridge.Output
}

// Tensor returns an output as a tensor with methods.
func (b *Site) Tensor(x tfbridge.Output) graph.Tensor { return graph.NewTensor(b.Scope, x) }

// Map is an [Elementwise] step that is a function of one tensor.
type Map struct {
	What string // its parameters
	May  Refuse // whether it may fail on a value
	To   Tensor // what it writes
	Func func(b *Site, x tfbridge.Output) tfbridge.Output
	Pixels
	InWords
}

// Explain returns the parameters.
func (m Map) Explain() string { return m.What }

// Out returns what the step writes.
func (m Map) Out() Tensor { return m.To }

// Build calls the function.
func (m Map) Build(b *Site, in []tfbridge.Output) tfbridge.Output { return m.Func(b, in[0]) }

// Elementwise returns true.
func (Map) Elementwise() bool { return true }

// Refuses reports whether the step may fail on a value, such as a text that is not a number.
func (m Map) Refuses() bool { return m.May == Fail }

// Refuse is whether a step may fail on a value.
type Refuse bool

// Fail is the value of [Map.May] for steps that may fail on a value.
const Fail Refuse = true

// Fold is a step that is a function of the tensors of one example.
type Fold struct {
	What string // its parameters
	To   Tensor // what it writes
	Func func(b *Site, in []tfbridge.Output) tfbridge.Output
	Pixels
}

// Explain returns the parameters.
func (f Fold) Explain() string { return f.What }

// Out returns what the step writes.
func (f Fold) Out() Tensor { return f.To }

// Build calls the function.
func (f Fold) Build(b *Site, in []tfbridge.Output) tfbridge.Output { return f.Func(b, in) }

// Batched is a step that also works on a batch of examples, where the shapes of the tensors that
// it reads are known.
type Batched struct {
	What string // its parameters
	To   Tensor // what it writes

	// Func adds the step on tensors that have lead axes in front of the example's own: 0 for an
	// example, 1 for a batch.
	Func func(b *Site, in []tfbridge.Output, lead int) tfbridge.Output
}

// Explain returns the parameters.
func (x Batched) Explain() string { return x.What }

// Out returns what the step writes.
func (x Batched) Out() Tensor { return x.To }

// Build calls the function for one example.
func (x Batched) Build(b *Site, in []tfbridge.Output) tfbridge.Output { return x.Func(b, in, 0) }

// Joined are rows of a batch that may differ in length: their values end to end, and where each
// row begins and ends, as in a ragged tensor. Splits is not set for rows of one size, which are a
// tensor with the rows in front.
type Joined struct{ Values, Splits tfbridge.Output }

// Rows is a step that makes a vector of each example, whose length the values decide. It also
// works on all examples of a batch at once.
type Rows struct {
	Fold
	Join func(b *Site, x Joined) Joined
	InWords
}

// Rows makes the vectors of all examples of a batch.
func (r Rows) Rows(b *Site, x Joined) Joined { return r.Join(b, x) }

// Scalar adds a constant of a data type. The value is one that the data type holds.
func (b *Site) Scalar(value any, d tfbridge.DataType) tfbridge.Output {
	return graph.Cast(b.Scope, b.Const(value), d)
}
