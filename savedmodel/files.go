package savedmodel

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/savedmodel/bundle"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// checkAssets checks that every asset is a file in the model's assets folder,
// and that the tensor to be fed its path is in the graph.
func (r *reader) checkAssets(m *metagraph.Graph) error {
	for _, a := range m.Assets {
		if ref := metagraph.ParseRef(a.Tensor); m.Nodes[ref.Node] == nil || ref.Control {
			return r.Fail("asset %s: the graph has no tensor %s to take its path", modelfile.Quote(a.Filename), modelfile.Quote(a.Tensor))
		}
		if !filepath.IsLocal(a.Filename) {
			if err := r.Tolerate(r.Unsafe("asset %s is outside the model's folder", modelfile.Quote(a.Filename))); err != nil {
				return err
			}
		}
		if err := r.checkAsset(a.Filename); err != nil {
			return err
		}
	}
	return nil
}

// checkAsset checks one asset. A missing asset is an error only if an operation may
// read it: see checkMissing.
func (r *reader) checkAsset(name string) error {
	o := r.folder.Open(filepath.Join(assetsName, name))
	if o.Err == nil {
		return o.File.Close()
	}
	if errors.Is(o.Err, fs.ErrNotExist) {
		r.missing = modelfile.Fail(o.Name, "the asset is missing")
		return nil
	}
	var e *millrace.Error
	if errors.As(o.Err, &e) {
		e.Msg = "the asset: " + e.Msg
	}
	return o.Err
}

// Digest returns a digest, in hexadecimal, of everything that the model's results
// depend on: the graph, the values of the variables and the files of its assets folder.
// It reads the assets. For the variables it uses the index, which has the checksums of
// their values.
func (m *Model) Digest() (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, "graph", m.SHA256)
	if m.bundle != nil {
		fmt.Fprintf(all, "variables %x\n", sha256.Sum256(m.bundle.Data))
	}
	folder := os.DirFS(m.Dir)
	err := fs.WalkDir(folder, assetsName, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := fs.Stat(folder, name)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := folder.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		fmt.Fprintf(all, "asset %q %d\n", name, info.Size())
		_, err = io.Copy(all, file)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e := millrace.Errorf(millrace.ErrIO, "read the assets: %w", err)
		e.File = m.Dir
		return "", e
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}

// checkVariables checks that the variables that a model restores exist and are
// complete. A model without variables needs none.
func (r *reader) checkVariables(m *metagraph.Graph) ([]bundle.Variable, error) {
	name := filepath.Join(r.dir, indexName)
	if !r.folder.Has(indexName) {
		if m.RestoreOp == "" || !m.HasVariables() {
			return nil, nil
		}
		return nil, modelfile.Fail(name, "the file is missing, and with it the model's variables")
	}
	data, err := r.folder.Open(indexName).ReadWhole(bundle.MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Read(name, data)
	if err != nil {
		return nil, err
	}
	b.Data, b.Prefix, r.bundle = data, variablesPrefix, b
	if err := b.CheckHas(name, r.restored); err != nil {
		return nil, err
	}
	if err := b.CheckShards(r.folder, !r.options.SkipTensorChecksums); err != nil {
		return nil, err
	}
	return b.Variables(), nil
}
