package run

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/scratch"
	"millrace/loaders"
	"millrace/remote"
)

// # Files that grow, in a store
//
// The log, the event files and the list of skipped records grow by a line at a time. An object
// in a store does not grow: it is written whole. So these files are written in a private folder
// on this machine, and each object is written again with its whole file:
//
//	every 30 s                   what has grown
//	before each checkpoint       what has grown; only then does the checkpoint count
//	at the end                   what has grown, then finished.json
//
// A run that is killed loses lines of steps that it makes again. The alternative, an object for
// each piece, would need another reader in every program that reads these files. The price: a
// long log is sent many times. It has a line for each log_every steps, a few hundred bytes.
// Event files grow faster, so one that has reached mostEventBytes is followed by another.

const (
	copyEvery      = 30 * time.Second
	mostEventBytes = 8 << 20

	// lastCopyTime limits the copy after a training that failed, whose cause may be the store.
	lastCopyTime = 5 * time.Second
)

// growing is the folder of the files that grow: the one of the run or, for a URL, a private one
// whose files are copied there.
type growing struct {
	folder  Folder
	to      Folder          // the URL
	scratch *scratch.Folder // nil: the folder is the one of the run
	stop    chan struct{}
	stopped sync.WaitGroup

	mu   sync.Mutex       // one copy at a time
	sent map[string]int64 // sizes of the objects by name
}

// newGrowing returns the folder for a run.
func newGrowing(r *Run) (*growing, error) {
	if !r.folder.inStore() {
		return &growing{folder: r.folder}, nil
	}
	private, err := scratch.New()
	if err != nil {
		return nil, folderError(string(r.folder), "make a private folder for the log: %w", err)
	}
	g := &growing{folder: Folder(private.Path), to: r.folder, scratch: private, stop: make(chan struct{}), sent: map[string]int64{}}
	if err := g.quarantine(r); err != nil {
		private.Close()
		return nil, err
	}
	g.stopped.Go(g.copies)
	return g, nil
}

// quarantine has skipped records listed in the private folder, after what an earlier process listed.
func (g *growing) quarantine(r *Run) error {
	listed := false
	for _, plan := range []*loaders.Plan{r.TrainPlan, r.EvaluatePlan} {
		if plan != nil && plan.Quarantine == r.folder.Quarantine() {
			plan.Quarantine = g.folder.Quarantine()
			listed = listed || plan.BadRecords != nil
		}
	}
	if !listed {
		return nil
	}
	before, err := r.folder.read(quarantineName)
	if before == nil || err != nil {
		return err
	}
	g.sent[quarantineName] = int64(len(before))
	return atomicfile.Write(g.folder.Quarantine(), before, 0o600)
}

// mostEvents returns the size at which an event file is followed by another; 0: never.
func (g *growing) mostEvents() int64 {
	if g.scratch == nil {
		return 0
	}
	return mostEventBytes
}

// copies copies now and then. It leaves errors to the copy before the next checkpoint.
func (g *growing) copies() {
	ticker := time.NewTicker(copyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-ticker.C:
			g.copy()
		}
	}
}

// copy copies what has grown. It may be called concurrently.
func (g *growing) copy() error { return g.copyWithin(context.Background()) }

func (g *growing) copyWithin(ctx context.Context) error {
	if g.scratch == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return filepath.WalkDir(string(g.folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(string(g.folder), path)
		if err != nil {
			return err
		}
		return g.copyFile(ctx, name)
	})
}

// copyFile copies a file that has grown.
func (g *growing) copyFile(ctx context.Context, name string) error {
	path := g.folder.path(name)
	from, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return folderError(path, "open: %w", reason(err))
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return folderError(path, "stat: %w", reason(err))
	}
	if info.Size() == g.sent[name] {
		return nil
	}
	object, err := remote.Create(ctx, g.to.path(filepath.ToSlash(name)))
	if err != nil {
		return err
	}
	defer object.Close()
	if _, err := io.Copy(object, io.LimitReader(from, info.Size())); err != nil {
		var known *millrace.Error
		if errors.As(err, &known) {
			return err
		}
		return folderError(path, "read: %w", reason(err))
	}
	if err := object.Commit(); err != nil {
		return err
	}
	g.sent[name] = info.Size()
	return nil
}

// last copies what has grown when a training ends. The error of the training comes before another
// one.
func (g *growing) last(err error) error {
	if err == nil || errors.Is(err, millrace.ErrCanceled) {
		return errors.Join(err, g.copy())
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastCopyTime)
	defer cancel()
	g.copyWithin(ctx)
	return err
}

// close removes the private folder.
func (g *growing) close() {
	if g.scratch == nil {
		return
	}
	close(g.stop)
	g.stopped.Wait()
	g.scratch.Close()
}
