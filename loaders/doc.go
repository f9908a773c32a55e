// Package loaders turns a JSON config and a dataset's manifest into batches.
//
//	loader, err := loaders.Open("loader.json", nil)
//	if err != nil {
//		return err
//	}
//	defer loader.Close()
//	for batch, err := range loader.Batches(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(batch.Tensor("image").Shape())
//	}
//
// It works in four steps, each a separate package: [millrace/loaders/spec] reads the
// files and reports all their problems at once, with places; [millrace/loaders/plan]
// decides how to run it, and explains that as text or JSON; [millrace/loaders/build]
// turns the plan into tf.data stages in a TensorFlow graph; [millrace/loaders/run]
// reads batches from them. The first two need no TensorFlow. This package puts the
// steps together: [Check] does the first two, [Open] all of them.
package loaders
