// Package lint has the rules of this repository as tests: allowed imports, the length
// of files and functions, and names and text that do not belong. It only has tests.
package lint
