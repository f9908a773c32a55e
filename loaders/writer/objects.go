package writer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/loaders/spec"
	"millrace/remote"
	"millrace/tfrecord/index"
)

// objects is a dataset in a store. Stores rename nothing, so shards get their final names at
// once, each when it is complete. The manifest comes last: without it the objects are not a
// dataset. Stores have no locks: nothing notices that two Writers write to the same URL.
type objects struct {
	url string
}

// openObjects returns the place of a dataset. It refuses objects that no earlier Writer wrote.
func openObjects(url string) (*objects, error) {
	o := &objects{url}
	names, err := o.list()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !o.written(name) {
			e := millrace.Errorf(millrace.ErrConfig, "there are objects below this URL; %s, for one. Name another URL, or remove them", millrace.Quote(name))
			e.File = url
			return nil, e
		}
	}
	return o, nil
}

// list returns the names of the objects below the URL.
func (o *objects) list() (names []string, err error) {
	for x, err := range remote.Default.List(context.Background(), o.url+"/") {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(x.URL, o.url+"/"))
	}
	return names, nil
}

// written reports whether a Writer that did not commit may have written an object.
func (o *objects) written(name string) bool {
	number, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(name, index.Suffix), shardExt), "part-")
	return name == progressName || ok && !strings.ContainsFunc(number, func(r rune) bool { return r < '0' || r > '9' })
}

func (o *objects) shards() string { return o.url }

func (o *objects) path(name string) string { return remote.Join(o.url, name) }

func (o *objects) resume(text string) (progress, error) {
	fresh := progress{Resume: text}
	found := fresh
	if b, err := o.read(progressName); err == nil && text != "" {
		if json.Unmarshal(b, &found) != nil || found.Resume != text {
			found = fresh
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fresh, err
	}
	keep := make(map[string]bool)
	for i, s := range found.Whole {
		info, err := remote.Default.Stat(context.Background(), o.path(shardName(i)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fresh, err
		}
		if err != nil || s.Name != shardName(i) || info.Size != s.Bytes {
			found.Whole = found.Whole[:i]
			break
		}
		keep[s.Name], keep[s.Name+index.Suffix], keep[progressName] = true, true, true
	}
	return found, o.keepOnly(keep)
}

// read returns the content of a small object.
func (o *objects) read(name string) ([]byte, error) {
	if _, err := remote.Default.Stat(context.Background(), o.path(name)); err != nil {
		return nil, err
	}
	f, err := remote.Open(context.Background(), o.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, regularfile.TextBytes))
}

// keepOnly removes the objects of an earlier Writer, except some.
func (o *objects) keepOnly(keep map[string]bool) error {
	names, err := o.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		if keep[name] || !o.written(name) {
			continue
		}
		if err := remote.Remove(context.Background(), o.path(name)); err != nil {
			return err
		}
	}
	return nil
}

func (o *objects) save(list *progress) error {
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return atomicfile.Write(o.path(progressName), b, 0o666)
}

func (o *objects) publish(files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	last := func(name string) bool { return name == spec.ManifestName }
	names = append(slices.DeleteFunc(names, last), spec.ManifestName)
	for _, name := range names {
		if err := atomicfile.Write(o.path(name), files[name], 0o666); err != nil {
			return err
		}
	}
	return remote.Remove(context.Background(), o.path(progressName))
}

// remove removes what can be removed: the caller has an error already.
func (o *objects) remove() { _ = o.keepOnly(nil) }

func (o *objects) Close() error { return nil }
