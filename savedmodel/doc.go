// Package savedmodel reads and checks a SavedModel directory in Go, before
// TensorFlow sees it.
//
// TensorFlow loads a model whose variables are missing, runs one with a
// flipped bit, dies of a function that calls itself, and executes whatever a
// signature asks for, files of the host included. [Read] refuses all of these
// and says which file, signature, node or variable is at fault:
//
//   - the protobuf: size, depth and form of every message; references between
//     nodes and functions; functions that recurse;
//   - the checksums in fingerprint.pb, where TensorFlow wrote them, or a pinned
//     SHA-256;
//   - the variables: index, shards, sizes and the checksum of every tensor;
//   - the assets: inside the model's folder, and there;
//   - the operations that a signature, the init op or the restore op reaches:
//     those that touch files, the network or the process are refused unless
//     allowed by name.
//
// It is not a sandbox: a model remains a program. And it is of the files as they
// were when they were read: TensorFlow reads them again.
package savedmodel
