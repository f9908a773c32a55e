// Package stage has the stages of a plan, each in a separate file: its parameters, what
// `millrace plan` prints, and how many examples it gives. It needs no TensorFlow.
//
//	for _, s := range stage.Of(engine.Choice{Spec: checked}) {
//		x := s.Explain()
//		fmt.Println(x.Name, x.What)
//	}
//
// # One stage, one room
//
// The question: a loader reads files, parses records, cuts windows, pads and batches. Each
// of these stages is checked, printed, counted, built and resumed. Where does a reader find
// one of them, and what does somebody change who adds one?
//
// The rejected alternative: a package for each activity, and in each package a type that
// knows all stages. Then one function prints the plan, another builds the pipeline, and
// nothing but care keeps the two equal.
//
// The answer: a plan is an ordered list of stages. A stage is a small value that holds its
// parameters and nothing else. The list is made once, by a table: each line makes the
// stages of one kind that a config has, in the order of their meaning. Whoever walks the
// list sees the same stages with the same parameters. A new stage is a file with its type,
// and a line of the table.
//
//	files, read, order, check   which records come when
//	parse, window, const, slice, chunks, output, lengths, mask
//	                            what is made of a record
//	shuffle, repeat             which examples come when
//	bucket, batch, prefetch     what a loop receives
//
// The order is that of the meaning. How much of it one operation does at once, and which
// engine that is, package engine decides; no such decision changes a batch.
package stage
