// Package configdoc writes docs/config-keys.md, the reference of every key in
// loader configs, manifests and files of model names, and docs/run-keys.md, the
// reference of run configs.
//
// Three sources say what a key is, so that the page cannot drift from the
// program:
//
//   - its declaration in Go: the struct tags that the checker reads files by
//     give its meaning, type and default;
//   - complete configs in testdata/samples, which the checker accepts, give
//     its example;
//   - the checker itself gives its errors. The package breaks each example in
//     the ways that its type and range forbid, and it reads the messages that
//     the checker's own golden files hold.
//
// A key without an example is an error, so a new key needs a sample.
package configdoc
