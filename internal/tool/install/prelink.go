package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/prelink"
)

// PrelinkOptions are the options of Prelink.
type PrelinkOptions struct {
	// Progress gets a line for each step. nil: no progress.
	Progress io.Writer

	pins *runtimedir.Pins // set by tests; nil: runtimedir.Pinned
}

// Prelink makes sure that the runtime in a directory, which Install made, has
// prelinked libraries: copies that open faster. The result is nil if their
// hashes are not pinned, as for libraries of unknown origin.
//
// The copies appear complete or not at all, and concurrent calls wait for each other,
// also in other processes. They need as much disk space as the libraries, unless the
// file system can share blocks between files.
func Prelink(ctx context.Context, dir string, o *PrelinkOptions) (*runtimedir.Installed, error) {
	p := &prelinker{}
	if o != nil {
		p.PrelinkOptions = *o
	}
	if p.pins == nil {
		p.pins = runtimedir.Pinned()
	}
	if p.Progress == nil {
		p.Progress = io.Discard
	}
	in, err := runtimedir.Read(dir)
	if err != nil {
		return nil, err
	}
	if p.in = in; p.pins.PrelinkedPins(in) == nil {
		return nil, nil
	}
	if made, err := p.pins.Prelinked(in, false); err == nil {
		return made, nil
	}
	unlock, err := lock(ctx, dir, p.say)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if made, err := p.pins.Prelinked(in, false); err == nil { // made while we waited for the lock
		return made, nil
	}
	made, err := p.make(ctx)
	return made, canceled(ctx, ioError(err))
}

// prelinker is one call of Prelink.
type prelinker struct {
	PrelinkOptions
	in *runtimedir.Installed
}

// make makes the copies with the lock held.
func (p *prelinker) make(ctx context.Context) (*runtimedir.Installed, error) {
	if err := sweep(p.in.Dir); err != nil {
		return nil, err
	}
	if err := p.room(); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(p.in.Dir, workPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	p.say("prelinking %v, once", p.in)
	made := *p.in
	made.Dir = filepath.Join(work, runtimedir.PrelinkedDir)
	if err := p.fill(ctx, &made); err != nil {
		return nil, err
	}
	final := filepath.Join(p.in.Dir, runtimedir.PrelinkedDir)
	if err := publish(made.Dir, final, work); err != nil {
		return nil, err
	}
	made.Dir = final
	return &made, nil
}

// fill makes the directory of the copies.
func (p *prelinker) fill(ctx context.Context, made *runtimedir.Installed) error {
	if err := os.Mkdir(made.Dir, 0o755); err != nil {
		return err
	}
	var originals []string
	for _, name := range runtimedir.Libraries {
		originals = append(originals, filepath.Join(p.in.Dir, name))
	}
	if err := prelink.Copy(ctx, made.Dir, originals...); err != nil {
		return fmt.Errorf("prelink: %w", err)
	}
	made.Libraries = nil
	pins := p.pins.PrelinkedPins(p.in)
	for _, name := range runtimedir.Libraries {
		l, err := p.describe(filepath.Join(made.Dir, name), pins[name])
		if err != nil {
			return err
		}
		made.Libraries = append(made.Libraries, l)
	}
	return made.Write()
}

// describe describes a copy. It returns an error for a copy that is not pinned, because
// the original has changed since it was installed.
func (p *prelinker) describe(path string, want runtimedir.Pin) (l runtimedir.Library, err error) {
	if l, err = runtimedir.Stamp(path); err != nil {
		return l, err
	}
	if l.SHA256, err = runtimedir.HashFile(path); err == nil && l.SHA256 != want.SHA256 {
		original := filepath.Join(p.in.Dir, l.Name)
		err = problem(millrace.ErrRuntime, original, "has changed: prelinked it has SHA-256 %s, want %s; type %s --force", l.SHA256, want.SHA256, runtimedir.Remedy)
	}
	return l, err
}

// room returns an error if the disk has too little space for the copies.
func (p *prelinker) room() error {
	var need int64
	for _, l := range p.in.Libraries {
		need += l.Size
	}
	if have, ok := free(p.in.Dir); ok && have < need {
		return problem(millrace.ErrIO, p.in.Dir, "%d MB are free, but prelinked libraries need %d MB", have/1e6, need/1e6)
	}
	return nil
}

// say writes a line of progress.
func (p *prelinker) say(format string, args ...any) {
	fmt.Fprintf(p.Progress, format+"\n", args...)
}
