package ops

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"millrace"
	"millrace/internal/base/childproc"
	"millrace/tfbridge"
)

// TestOptions are the options of Test.
type TestOptions struct {
	Runtime        string   // the runtime's directory; "" the one that tfbridge.Open opens
	Args           []string // further arguments for go test
	Stdout, Stderr io.Writer
}

// ErrTestsFailed is the error of tests that ran and failed.
var ErrTestsFailed = errors.New("the tests failed")

// Test runs go test for the packages in a folder and below.
func Test(ctx context.Context, dir string, o *TestOptions) error {
	if o == nil {
		o = &TestOptions{}
	}
	if err := needGo(dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test"}, o.Args...), "./...")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, o.Stdout, o.Stderr
	cmd.WaitDelay = 10 * time.Second
	if o.Runtime != "" {
		cmd.Env = append(cmd.Environ(), tfbridge.RuntimeEnv+"="+o.Runtime)
	}
	err := childproc.Run(cmd)
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return millrace.Canceled(ctx, "go test")
	case errors.Is(err, exec.ErrNotFound):
		return errNoGo()
	case errors.As(err, &failed):
		return ErrTestsFailed
	}
	return millrace.Errorf(millrace.ErrIO, "go test: %w", err)
}

// needGo returns an error if no file of a folder, or below, is Go source.
func needGo(dir string) error {
	found := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			found = true
			return filepath.SkipAll
		}
		return err
	})
	switch {
	case err != nil:
		return ioError(err)
	case !found:
		return problem(millrace.ErrConfig, dir, "has neither C++ sources (*.cc) nor tests in Go; millrace ops new writes a template")
	}
	return nil
}
