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
// It goes in four steps, each a package of its own: [millrace/loaders/spec]
// reads what was written and reports everything that is wrong with it at once,
// with places; [millrace/loaders/plan] decides how to run it, and explains that
// as text or JSON; [millrace/loaders/build] makes tf.data stages of the plan in
// a TensorFlow graph; [millrace/loaders/run] reads batches from them. The first
// two need no TensorFlow. This package puts the steps together: [Check] does the
// first two, [Open] all of them.
package loaders
