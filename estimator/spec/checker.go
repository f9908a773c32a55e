package spec

import (
	"fmt"
	"path/filepath"

	"millrace/diag"
	"millrace/loaders/decl"
	"millrace/savedmodel"
)

// checker is one run of [Check].
type checker struct {
	o      Options
	run    *Run
	report *decl.Reporter
	others diag.List // problems of other files, and of this one where it cannot be read

	train, evaluate *savedmodel.Signature // nil: unknown
}

// relative returns a path that starts at the run config's folder.
func (c *checker) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.run.Path), path)
}

// nearest returns a hint that names the nearest name, or all of them.
func nearest(name string, names []string) string {
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return fmt.Sprintf("there is %q", names)
}

// outputs returns the names of a signature's outputs.
func outputs(s *savedmodel.Signature) []string {
	var names []string
	for _, t := range s.Outputs {
		names = append(names, t.Name)
	}
	return names
}
