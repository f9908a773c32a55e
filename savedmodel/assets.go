package savedmodel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
)

// checkAssets checks that every asset is a file in the model's assets folder,
// and that the tensor to be fed its path is in the graph.
func (r *reader) checkAssets(m *metaGraph) error {
	if len(m.assets) == 0 {
		return nil
	}
	for _, a := range m.assets {
		if ref := parseRef(a.tensor); m.nodes[ref.node] == nil || ref.control {
			return r.fail("asset %s: the graph has no tensor %s to take its path", quote(a.filename), quote(a.tensor))
		}
		if !filepath.IsLocal(a.filename) {
			e := r.fail("asset %s is outside the model's folder", quote(a.filename))
			e.Class = millrace.ErrUnsafeModel
			return e
		}
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return failIO(r.dir, err)
	}
	defer root.Close()
	for _, a := range m.assets {
		if err := r.checkAsset(root, a.filename); err != nil {
			return err
		}
	}
	return nil
}

// checkAsset checks one asset; root does not let its path leave the folder, by
// a symbolic link neither.
func (r *reader) checkAsset(root *os.Root, name string) error {
	path := filepath.Join(r.dir, assetsName, name)
	info, err := root.Stat(filepath.Join(assetsName, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failAt(path, "the asset is missing")
	case err != nil:
		e := failAt(path, "the asset cannot be reached inside the model's folder: %v", plainCause(err))
		e.Class = millrace.ErrUnsafeModel
		e.Err = err
		return e
	case !info.Mode().IsRegular():
		return failAt(path, "the asset is not a regular file")
	}
	return nil
}

// plainCause returns what the system said without the path, which the error
// around it names.
func plainCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
