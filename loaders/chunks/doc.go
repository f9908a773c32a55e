// Package chunks holds the rules by which a loader of type chunked_sequence
// turns sequences into rows and rows into batches: how a sequence is cut
// ([Cut]), when a batch is full ([Budget]), and in which order the sequences of
// an epoch come ([Order]). It knows lengths only, no data, and needs no
// TensorFlow.
//
//	cut := chunks.Cut{Size: 50, Step: 25}
//	for k := range cut.Rows(130) {
//		begin, end := cut.Row(k, 130) // 0 50, 25 75, 50 100, 75 125, 100 130, 125 130
//	}
package chunks
