// Package estimator runs models over data. A SavedModel's signature is joined
// to an input pipeline in one TensorFlow graph, so that a step is one session
// run and a batch goes from disk to the model without passing through Go:
//
//	model, err := estimator.LoadModel("examples/digits/model", nil)
//	if err != nil {
//		return err
//	}
//	defer model.Close()
//	loader, err := loaders.Open("examples/digits/predict.json", nil)
//	if err != nil {
//		return err
//	}
//	defer loader.Close()
//	for batch, err := range model.Predict(ctx, loader, nil) {
//		...
//	}
//
// What feeds a model is a [Source]: a loader, a tf.data dataset written in Go
// ([FromDataset]), values of the program ([FromValues]) or any tensors of the
// graph ([FromOutputs]).
//
// A [Model] holds any number of signatures over one session and one set of
// variables. [Model.Join] joins a signature to a source and gives a
// [Pipeline], which can be run again and again. A program that trains has
// several: one over the training data with the signature that changes the
// variables, one over the evaluation data with the signature that reads them.
package estimator
