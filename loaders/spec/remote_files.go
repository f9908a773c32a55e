package spec

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"millrace"
	"millrace/remote"
	"millrace/tfrecord/index"
)

// remoteLooks is how many files of a store are looked at at once.
const remoteLooks = 32

// readRemoteDir reads the manifest and finds the data files below the URL of a folder, all
// with one list. Files with an index beside them are counted.
func (c datasetPart) readRemoteDir(a *DirArgs, dir string) {
	at := a.Key("data_dir")
	if c.disk.root != nil {
		c.unreadable(at, "folder", dir, &outsideError{dir, c.disk.dir})
		return
	}
	c.spec.ManifestPath = remote.Join(dir, ManifestName)
	manifestPart(c).readManifest(at)
	if c.o.ManifestOnly {
		return
	}
	wanted, ok := c.dataFiles(a)
	if !ok {
		return
	}
	indexed, others := map[string]bool{}, []string{}
	for o, err := range remote.Default.List(context.Background(), dir+"/") {
		rel := ""
		if err == nil {
			rel = o.URL[len(dir)+1:]
		}
		switch {
		case err != nil:
			c.unreadable(at, "folder", dir, err)
			return
		case index.IsIndex(rel):
			indexed[rel] = true
		case !wanted.has(rel):
			others = append(others, rel)
		case len(c.spec.Files) == maxFiles:
			c.unreadable(at, "folder", dir, millrace.Errorf(millrace.ErrLimit, "more than %d data files", maxFiles))
			return
		default:
			c.spec.Files = append(c.spec.Files, DataFile{Path: o.URL, Name: rel, Size: o.Size, Remote: true})
		}
	}
	for i := range c.spec.Files {
		f := &c.spec.Files[i]
		f.Remote = !indexed[f.Name+index.Suffix]
	}
	if len(c.spec.Files) == 0 {
		c.noDataFile(a, dir, others)
	}
}

// look looks at the listed files that package remote reads, many at once.
func (l *listReader) look() {
	files := l.spec.Files
	errs := make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range remoteLooks {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				if remote.Default.Reads(files[i].Path) {
					errs[i] = lookAt(&files[i])
				}
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			l.line = files[i].ListLine
			l.report(classOf(err), "%s: %v", PrintablePath(files[i].Path), reason(err)).Cause = err
		}
	}
}

// lookAt finds the size of a file, and whether it has an index.
func lookAt(f *DataFile) error {
	var missing error
	var wg sync.WaitGroup
	wg.Go(func() { _, missing = remote.Default.Peek(context.Background(), f.Path+index.Suffix) })
	info, err := remote.Default.Stat(context.Background(), f.Path)
	wg.Wait()
	f.Size, f.Remote = info.Size, missing != nil
	return err
}

// needIndex returns what to do where a key needs a file's index.
func needIndex(path string) string {
	if remote.Default.Reads(path) {
		return fmt.Sprintf("copy its index (millrace index writes one beside a local copy) to %s", PrintablePath(path+index.Suffix))
	}
	return "copy it to a disk of this machine"
}
