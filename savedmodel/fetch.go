package savedmodel

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"millrace"
	"millrace/internal/base/scratch"
	"millrace/remote"
)

// fetched is a copy of a SavedModel or a checkpoint in a store, in a private folder. So the files that were
// checked are the files that TensorFlow reads, whatever the store gives later.
type fetched struct {
	url    string
	folder *scratch.Folder
	clean  runtime.Cleanup
	once   sync.Once
}

// readURL copies the SavedModel below a URL, and reads the copy.
func readURL(url string, o *Options) (*Model, error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, (&Stage{}).failed(err)
	}
	f := &fetched{url: url, folder: folder}
	err = remote.Download(context.Background(), url, folder.Path)
	var m *Model
	if err == nil {
		m, err = Read(folder.Path, o)
	}
	if err != nil {
		folder.Close()
		return nil, f.explain(err)
	}
	for _, problem := range append(slices.Clone(m.Warnings), m.Refused...) {
		f.explain(problem)
	}
	m.fetched = f
	f.clean = runtime.AddCleanup(m, func(folder *scratch.Folder) { folder.Close() }, folder)
	return m, nil
}

// readCheckpointURL copies the files of a checkpoint in a store, and reads the copies.
func readCheckpointURL(prefix string) (*Checkpoint, error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, (&Stage{}).failed(err)
	}
	base := path.Base(prefix)
	f := &fetched{url: strings.TrimSuffix(prefix, "/"+base), folder: folder}
	_, err = remote.DownloadFiles(context.Background(), prefix+".", folder.Path)
	var c *Checkpoint
	if err == nil {
		c, err = ReadCheckpoint(filepath.Join(folder.Path, base))
	}
	if err != nil {
		folder.Close()
		return nil, f.explain(err)
	}
	c.fetched = f
	f.clean = runtime.AddCleanup(c, func(folder *scratch.Folder) { folder.Close() }, folder)
	return c, nil
}

// explain returns an error about a file of the copy as one about the object.
func (f *fetched) explain(err error) error {
	var e *millrace.Error
	if errors.As(err, &e) {
		if name, ok := strings.CutPrefix(e.File, f.folder.Path); ok {
			e.File = f.url + name
		}
	}
	return err
}

// Source returns the folder of the model, or the URL from which [Read] has copied it to Dir.
func (m *Model) Source() string {
	if m.fetched != nil {
		return m.fetched.url
	}
	return m.Dir
}

// Close removes the copy of a model from a URL. Then the model cannot be loaded any more, but
// what was loaded continues to work. It does nothing for other models. Without Close the copy
// stays until the collector finds that the model is not used. Close may be called again.
func (m *Model) Close() error {
	if m == nil {
		return nil
	}
	return m.fetched.close()
}

// close removes the copy, once.
func (f *fetched) close() (err error) {
	if f == nil {
		return nil
	}
	f.once.Do(func() {
		f.clean.Stop()
		err = f.folder.Close()
	})
	return err
}
