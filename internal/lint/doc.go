// Package lint holds the rules of the house as tests: which package may import
// which, how long files and functions get, what names and text are out of
// place. It has no code of its own.
package lint
