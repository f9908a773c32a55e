// Package export writes trained SavedModels: a copy of the model that was
// trained, with its signatures, functions and assets, and the values of a
// checkpoint.
//
//	err := export.Write(model, checkpoint, "export")
package export

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/scratch"
	"millrace/remote"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// The values of a SavedModel's variables are in two files that stand by
// themselves, variables/variables.index and its data. The program in
// saved_model.pb holds none. So an export copies the folder as it is and writes
// these two files again, by TensorFlow's SaveV2; and fingerprint.pb, which has a
// checksum of the index. Python, Keras and TensorFlow Serving load the result as
// they load the original.

// Write writes the SavedModel in the folder model with the variables of a checkpoint to
// the folder out, whole or not at all. Variables that the checkpoint lacks keep the
// model's values; a checkpoint with none of the model's variables is refused. An older
// export in out is replaced in one step; anything else there is refused.
//
// The URL of a store of package remote may stand for out. Nothing may be there, and
// saved_model.pb is written last.
func Write(model string, c *checkpoint.Checkpoint, out string) error {
	if remote.IsURL(out) {
		return writeURL(model, c, out)
	}
	saved, err := savedmodel.Read(model, &savedmodel.Options{SkipTensorChecksums: true})
	if err != nil {
		return err
	}
	if err := refuse(model, out); err != nil {
		return err
	}
	aside := out + ".writing"
	if err := os.RemoveAll(aside); err != nil {
		return failure(aside, err)
	}
	defer os.RemoveAll(aside)
	if err := copyFolder(model, aside); err != nil {
		return err
	}
	if err := writeVariables(saved, c, aside); err != nil {
		return err
	}
	if _, err := graph.ReadModel(aside, nil); err != nil {
		return err
	}
	return swap(aside, out)
}

// writeURL writes a SavedModel to a private folder, and uploads it.
func writeURL(model string, c *checkpoint.Checkpoint, out string) error {
	folder, err := scratch.New()
	if err != nil {
		return failure(out, err)
	}
	defer folder.Close()
	dir := filepath.Join(folder.Path, "model")
	if err := Write(model, c, dir); err != nil {
		return err
	}
	return remote.Upload(context.Background(), dir, out, "saved_model.pb")
}

// refuse refuses to replace what is not an older export.
func refuse(model, out string) error {
	info, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure(out, err)
	}
	if original, err := os.Stat(model); err == nil && os.SameFile(original, info) {
		return refused(out, "this is the model itself; name another folder")
	}
	if _, err := os.Stat(filepath.Join(out, "saved_model.pb")); !info.IsDir() || err != nil {
		return refused(out, "exists already and is not a SavedModel; name another folder")
	}
	return nil
}

// copyFolder copies a model but for the values of its variables.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return failure(path, err)
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return failure(path, err)
		}
		switch {
		case e.IsDir() && name == "variables":
			return fs.SkipDir
		case e.IsDir():
			if err := os.MkdirAll(filepath.Join(to, name), 0o777); err != nil {
				return failure(filepath.Join(to, name), err)
			}
			return nil
		}
		return copyFile(path, filepath.Join(to, name))
	})
}

// copyFile copies a file, or what a symbolic link leads to.
func copyFile(from, to string) error {
	if info, err := os.Stat(from); err == nil && !info.Mode().IsRegular() {
		return refused(from, "not a regular file, so it cannot be copied")
	}
	in, _, err := regularfile.OpenFile(from)
	if err != nil {
		return failure(from, err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return failure(to, err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return failure(to, err)
	}
	return nil
}

// writeVariables writes the variables, and the fingerprint that goes with them.
func writeVariables(saved *savedmodel.Model, c *checkpoint.Checkpoint, to string) error {
	prefix, specs, values, err := trainedValues(saved, c)
	if err != nil || prefix == "" {
		return err
	}
	defer closeAll(values)
	dir := filepath.Join(to, "variables")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failure(dir, err)
	}
	if err := checkpoint.WriteTensors(filepath.Join(dir, "variables"), specs, values); err != nil {
		return err
	}
	name := filepath.Join(to, "fingerprint.pb")
	old, err := regularfile.ReadFile(name, regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure(name, err)
	}
	index, err := regularfile.ReadFile(filepath.Join(dir, "variables.index"), savedmodel.MaxIndexBytes)
	if err != nil {
		return failure(dir, err)
	}
	fingerprint, err := savedmodel.Refingerprint(old, index)
	if err != nil {
		return err
	}
	return checkpoint.WriteFile(name, fingerprint)
}

// trainedValues returns all tensors of the model's own checkpoint, with the
// values of c where it has them. The prefix is "" for a model without variables.
func trainedValues(saved *savedmodel.Model, c *checkpoint.Checkpoint) (prefix string, specs []dtype.TensorSpec, values []*tfbridge.Tensor, err error) {
	prefix, ok := saved.Checkpoint()
	if !ok {
		return "", nil, nil, nil
	}
	tables, err := checkpoint.TableTensors(saved.Program())
	if err != nil {
		return "", nil, nil, err
	}
	var trained, kept []dtype.TensorSpec // under the names in the model
	for _, v := range saved.Variables {
		have, ok := c.Tensor(v.Name)
		if ok && (have.DType != v.DType || have.Shape.String() != v.Shape.String() && !tables[v.Name]) {
			return "", nil, nil, otherModel(c, v, have)
		}
		if ok {
			trained = append(trained, have)
		} else {
			kept = append(kept, v.TensorSpec)
		}
	}
	if len(trained) == 0 && len(saved.Variables) > 0 {
		return "", nil, nil, refused(c.Source(), "the checkpoint has none of the model's variables")
	}
	if saved.Objects() {
		kept = append(kept, dtype.TensorSpec{Name: savedmodel.ObjectGraphKey, DType: dtype.String, Shape: dtype.ScalarShape()})
	}
	values, err = checkpoint.ReadTensors(c.Prefix, c.Weights(trained))
	if err != nil {
		return "", nil, nil, err
	}
	rest, err := checkpoint.ReadTensors(prefix, kept)
	if err != nil {
		closeAll(values)
		return "", nil, nil, err
	}
	return prefix, append(trained, kept...), append(values, rest...), nil
}

// swap puts a complete folder in the place of another, or in an empty place.
func swap(from, to string) error {
	if err := checkpoint.SyncFolder(from); err != nil {
		return err
	}
	aside := atomicfile.Temporary(filepath.Clean(to))
	if err := atomicfile.RenameFolder(from, to, aside); err != nil {
		return failure(to, atomicfile.Cause(err))
	}
	os.RemoveAll(aside) // there only where the file system cannot exchange names
	return checkpoint.SyncFolder(filepath.Dir(filepath.Clean(to)))
}

func otherModel(c *checkpoint.Checkpoint, v savedmodel.Variable, have dtype.TensorSpec) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, "the checkpoint is of another model: it has %v, the model %v", have, v.TensorSpec)
	e.File, e.Tensor = c.Source(), v.Name
	return e
}

// refused is an error about a folder or file that is not what it should be.
func refused(path, msg string) error {
	e := millrace.Errorf(millrace.ErrConfig, "%s", msg)
	e.Op, e.File = "export", path
	return e
}

// failure is an error of the operating system.
func failure(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", err)
	e.Op, e.File = "export", path
	return e
}

func closeAll(list []*tfbridge.Tensor) {
	for _, t := range list {
		t.Close()
	}
}
