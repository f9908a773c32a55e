// Package dataset is tf.data for Go. It builds datasets in a graph from TensorFlow's
// dataset operations, and TensorFlow runs them.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	d := dataset.Range(s, 0, 10, 1).
//		Map("double", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
//			return []tfbridge.Output{graph.Add(s, args[0], args[0])}
//		}, nil).
//		Batch(4, false)
//	for batch, err := range dataset.Iterate[[]int64](ctx, d, nil) { ... }
//
// # Elements
//
// An element is a flat list of tensors, its components ([Dataset.Specs]). Functions
// such as Map's take components. A [Structure] ([Dataset.Spec]) gives the list a form:
// a tuple or named fields of dense, sparse and ragged parts, nested to any depth. A
// sparse or ragged part is one component, a variant. It is batched, shuffled and saved
// like any other. Batches of sparse tensors are sparse, and batches of ragged tensors
// are ragged with one more rank.
//
// Go values have the same structure: a struct whose fields are tagged `tf:"name"`, a
// map[string]V or a slice. [FromRows], [FromColumns] and [FromValue] make datasets of
// Go values. [MapOf], [PredicateOf], [DatasetOf], [ScanOf] and [ReduceOf] take
// functions of them. [Iterate], [First] and [ToSlice] return elements as Go values. Map
// with a function of components makes elements tuples; every other method keeps the
// structure.
//
// # Live input
//
// [FromSeq], [FromFunc], [FromChan] and [FromFeed] make datasets of Go values that
// arrive while the dataset is read. Each iterator ranges over the sequence again, in a
// goroutine of its own, which runs ahead by a bounded number of elements and bytes. All
// iterators share a channel or a [Feed]. Elements are copied. When the iterator or its
// session is closed, the goroutine's context is cancelled; if it does not end, the
// error of the session's Close names it. Iterators of such datasets can be saved if the
// sequence is declared replayable.
//
// # Failures and order
//
// As everywhere in package graph, building returns no errors: the first
// failure sticks to the scope. After one, methods return datasets without
// components, and functions given to them are not called.
//
// Datasets keep the order of their elements unless an option named Sloppy is set. The
// same seeds give the same order in every process; without seeds the order differs each
// time. For a Python seed n, use the seeds [DefaultSeed] and n.
//
// Only one goroutine at a time may build, which includes the calls of [Dataset.All] and
// [Iterate]. Many goroutines may range over the sequences that these return, each in a
// session of its own, which is closed when the loop ends. Tensors in an element are
// valid until the next element. The caller may keep Go values.
package dataset
