// Package savedmodel reads and checks a SavedModel directory in Go, before
// TensorFlow sees it.
//
// TensorFlow loads a model whose variables are missing, and runs a model with a flipped
// bit. A function that calls itself ends its process. It executes every operation of a
// graph, including those that read and write files of the host. [Read] refuses all of
// these, in errors that name the file, signature, node or variable at fault:
//
//   - the protobuf: size, depth and form of every message; references between
//     nodes and functions; functions that recurse;
//   - the checksums in fingerprint.pb, if TensorFlow wrote any, or a pinned
//     SHA-256;
//   - the variables: index, shards, sizes and the checksum of every tensor;
//   - the assets: they exist inside the model's folder;
//   - the operations, wherever they stand in the graph: those that touch files,
//     the network or the process are refused unless allowed by name (package policy);
//   - the files: they are regular files inside the model's folder.
//
// What is merely odd is a warning in [Model.Warnings]. TensorFlow loads exactly the
// graph that was checked:
//
//	m, err := savedmodel.Read(dir, nil)   // an error, or the model
//	p := m.Program()                      // the checked graph, serialized again
//	stage, err := m.Stage()               // its files, opened, in a private folder
//	defer stage.Close()
//
// Package graph does this, imports p.GraphDef, feeds the paths of stage and runs
// p.RestoreOp and p.InitOp. TensorFlow parses no byte of the model's protobuf
// that this package did not write.
//
// The check is not a sandbox. A model remains a program: it may use up memory and
// time, or trigger a bug in an operation.
package savedmodel
