// Package savedmodel reads and checks a SavedModel directory in Go, before
// TensorFlow sees it.
//
// TensorFlow loads a model whose variables are missing, runs one with a
// flipped bit, dies of a function that calls itself, and executes whatever a
// graph holds, on files of the host as well. [Read] refuses all of these and
// says which file, signature, node or variable is at fault:
//
//   - the protobuf: size, depth and form of every message; references between
//     nodes and functions; functions that recurse;
//   - the checksums in fingerprint.pb, where TensorFlow wrote them, or a pinned
//     SHA-256;
//   - the variables: index, shards, sizes and the checksum of every tensor;
//   - the assets: inside the model's folder, and there;
//   - the operations, wherever they stand in the graph: those that touch files,
//     the network or the process are refused unless allowed by name (judge.go);
//   - the files: regular ones, to which no symbolic link leads from outside.
//
// What was judged is what TensorFlow loads:
//
//	m, err := savedmodel.Read(dir, nil)   // refuses, or knows the model
//	p := m.Program()                      // the graph, written again from what was read
//	stage, err := m.Stage()               // its files, opened, in a private folder
//	defer stage.Close()
//
// Package graph does this, imports p.GraphDef, feeds the paths of stage and runs
// p.RestoreOp and p.InitOp. TensorFlow parses no byte of the model's protobuf
// that this package did not write.
//
// It is not a sandbox: a model remains a program that may use up memory and time
// or find a bug in an operation.
package savedmodel
