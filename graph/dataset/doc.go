// Package dataset is tf.data for Go: datasets are built in a graph, by
// TensorFlow's own dataset operations, and run by TensorFlow.
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
// An element is a flat list of tensors, its components ([Dataset.Specs]), and
// functions such as Map's work on these. Over the list lies a [Structure]
// ([Dataset.Spec]): a tuple, or fields by name, of dense, sparse and ragged
// parts, to any depth. A sparse or ragged part is one component, a variant,
// which is batched, shuffled and saved like any other: batches of sparse
// tensors are sparse, and batches of ragged ones ragged, of one more rank.
//
// Go values have the same structure: a struct whose fields are tagged
// `tf:"name"`, a map[string]V or a slice. [FromRows], [FromColumns] and
// [FromValue] make datasets of them; [MapOf], [PredicateOf], [DatasetOf],
// [ScanOf] and [ReduceOf] take functions of them; [Iterate], [First] and
// [ToSlice] give the elements as such. A function of components that is given
// to Map leaves a tuple behind; all else keeps the structure.
//
// # Live input
//
// [FromSeq], [FromFunc], [FromChan] and [FromFeed] are datasets of what Go
// makes while they are read. Each iterator ranges over a sequence anew, in a
// goroutine of its own that runs ahead by a bounded number of elements and
// bytes; a channel or a [Feed] is shared by all iterators. Elements are copied.
// The goroutine is told to end when the iterator or its session is closed; one
// that does not is named by the error of the session's Close. Iterators of such
// datasets can be saved if the sequence is said to be replayable.
//
// # Failures and order
//
// As everywhere in package graph, building returns no errors: the first
// failure sticks to the scope. After one, methods return datasets without
// components, and functions given to them are not called.
//
// Order is kept unless an option named Sloppy says otherwise. The same seeds
// give the same order in every process; without seeds it is another one each
// time. Where Python takes one seed n, the two here are [DefaultSeed] and n.
//
// Building, to which the calls of [Dataset.All] and [Iterate] belong, is for
// one goroutine at a time. The sequences that they return may be ranged over
// by many, each in a session of its own, which is closed when the loop is left.
// Tensors in their elements are valid until the next one; Go values are the
// caller's to keep.
package dataset
