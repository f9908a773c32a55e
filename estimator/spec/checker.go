package spec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"millrace/diag"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/observe"
	"millrace/remote"
	"millrace/savedmodel"
	"millrace/tfbridge"
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
	if filepath.IsAbs(path) || remote.IsURL(path) {
		return path
	}
	if remote.IsURL(c.run.Path) {
		return remote.Join(remote.Dir(c.run.Path), path)
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

// Options are the options of [Check]. Nil means the defaults.
type Options struct {
	Seed    *int64 // instead of the config's; nil: the config's, the loader's, or a fresh one
	Runtime *tfbridge.RuntimeOptions
	Session *tfbridge.SessionOptions
	Observe *observe.Listener // hears the events of the model and its runs; nil: no listener
	Steps   []processing.Type // the program's own types of processing steps: see [loaders.CheckOptions]
}

// reason returns the cause of a path error; the message names the path already.
func reason(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// kept are tensors that a loader must give beside the inputs of a signature.
type kept struct {
	names []string
	by    map[string]string // what needs a tensor; see loaders.CheckOptions.KeptFor
}

// add adds a tensor that something needs. A name that is "" or is there already adds nothing.
func (k *kept) add(name, by string) {
	if name == "" || slices.Contains(k.names, name) {
		return
	}
	if k.by == nil {
		k.by = map[string]string{}
	}
	k.names, k.by[name] = append(k.names, name), by
}
