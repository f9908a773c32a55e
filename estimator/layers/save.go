package layers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/atomicfile"
	"millrace/tfbridge"
)

// Save builds a model and writes it to a new folder as a SavedModel:
//
//	train            features and labels; outputs loss, learning_rate and the
//	                 predictions, all of before the update of the variables
//	evaluate         features and labels; outputs loss and the predictions
//	serving_default  features; outputs the predictions
//
// These are the signatures of the modes Train, Evaluate and Predict; a model has those
// of its modes. The variables have their initial values, and the optimizer's slots are
// among them. estimator.Train trains the model with signature train. Python's
// tf.saved_model.load and TensorFlow Serving load it; it has the form of a SavedModel
// of TensorFlow 1, which describes no Python objects.
//
// The folder appears when it is complete. It must not exist yet. Errors are of class
// ErrModel, ErrConfig or ErrIO.
func Save(dir string, m *Model) (err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return ioError(dir, "there is something of this name already")
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	b, err := m.build(s)
	if err != nil {
		return err
	}
	saver, err := newSaver(b)
	if err != nil {
		return err
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	var assigns []*tfbridge.Operation
	for _, v := range b.store.all {
		assigns = append(assigns, v.assign)
	}
	if _, err := session.Run(nil, nil, assigns); err != nil {
		return graph.ModelError(dir, "", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp")
	if err != nil {
		return ioError(dir, "%w", err)
	}
	defer os.RemoveAll(temporary)
	if err := b.write(temporary, saver, session); err != nil {
		return err
	}
	if err := atomicfile.RenameNew(temporary, dir); err != nil {
		return ioError(dir, "%w", atomicfile.Cause(err))
	}
	return nil
}

// write writes the files of a SavedModel.
func (b *built) write(dir string, saver *saver, session *tfbridge.Session) error {
	if err := os.Chmod(dir, 0o777&^umask); err != nil {
		return ioError(dir, "%w", err)
	}
	variables := filepath.Join(dir, "variables")
	if err := os.Mkdir(variables, 0o777); err != nil {
		return ioError(dir, "%w", err)
	}
	if err := saver.save(session, filepath.Join(variables, "variables")); err != nil {
		return err
	}
	model, err := b.proto(saver)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "saved_model.pb"), model, 0o666)
}

// umask are the permission bits that a model's folder lacks.
const umask = 0o022

// ioError is an error about the model's folder.
func ioError(dir, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrIO, format, args...)
	e.Op, e.File = "write the model", dir
	return e
}

// saver is the operations that save and restore the variables, in the form that
// TensorFlow 1 gives them.
type saver struct {
	filename tfbridge.Output // fed with the prefix of the files
	saved    tfbridge.Output
	restore  *tfbridge.Operation
}

func newSaver(b *built) (*saver, error) {
	s := b.scope.SubScope("save")
	filename := s.Op1("PlaceholderWithDefault", map[string]any{"shape": tfbridge.ScalarShape()}, s.Const("model"))
	var names, slices []string
	var types []tfbridge.DataType
	var values tfbridge.OutputList
	for _, v := range b.store.all {
		names, slices = append(names, v.Name), append(slices, "")
		types, values = append(types, v.DType), append(values, v.read)
	}
	save := s.AddOperation(tfbridge.OpSpec{Type: "SaveV2", Input: []tfbridge.Input{filename, s.Const(names), s.Const(slices), values}})
	restored := s.Op("RestoreV2", map[string]any{"dtypes": types}, filename, s.Const(names), s.Const(slices))
	if s.Err() != nil {
		return nil, s.Err()
	}
	var assigns []*tfbridge.Operation
	for i, v := range b.store.all {
		assigns = append(assigns, s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{v.handle, graph.Identity(s, restored[i])}}))
	}
	sv := &saver{filename: filename, saved: graph.Identity(s.WithControlDependencies(save), filename), restore: graph.NoOp(s, assigns...)}
	return sv, s.Err()
}

// save writes the values of the variables.
func (sv *saver) save(session *tfbridge.Session, prefix string) error {
	name, err := tfbridge.NewTensor(prefix)
	if err != nil {
		return err
	}
	defer name.Close()
	if _, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{sv.filename: name}, nil, []*tfbridge.Operation{sv.saved.Op}); err != nil {
		return ioError(filepath.Dir(filepath.Dir(prefix)), "%w", err)
	}
	return nil
}
