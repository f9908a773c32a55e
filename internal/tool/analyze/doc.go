// Package analyze computes statistics and vocabularies of a dataset in one pass: the files that
// the processing steps normalize and lookup read.
//
//	found, err := analyze.Run(ctx, loader, analyze.Options{})
//	if err != nil {
//		return err
//	}
//	text, err := json.MarshalIndent(found, "", " ")
//
// Memory is bounded, whatever the data: quantiles come from a sketch, see [sketch], distinct values
// from one beside it, and rare words are dropped where there are too many of them. The same data
// give the same file: the number of processors changes nothing.
package analyze
