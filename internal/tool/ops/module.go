package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"millrace"
	"millrace/internal/base/childproc"
	"millrace/internal/base/regularfile"
)

// modulePath is the path of this module.
const modulePath = "millrace"

// goVersion is the line of a new go.mod.
const goVersion = "1.26.0"

// module makes sure that the folder belongs to a Go module that has Millrace. In a
// user's module it only checks; elsewhere it writes a go.mod.
func (t *template) module(ctx context.Context) error {
	if file := enclosing(t.dir, "go.mod"); file != "" {
		if _, err := goTool(ctx, t.dir, "list", "-m", modulePath); err != nil {
			return problem(millrace.ErrConfig, file, "the module does not have %s: go mod edit -require=%s@v0.0.0 -replace=%s=FOLDER names a copy of its sources: %w", modulePath, modulePath, modulePath, err)
		}
		return nil
	}
	text := fmt.Sprintf("module %s\n\ngo %s\n", strings.ToLower(t.Name), goVersion)
	if version := published(); version != "" && t.Millrace == "" {
		text += fmt.Sprintf("\nrequire %s %s\n", modulePath, version)
	} else {
		sources, err := t.findMillrace(ctx)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", modulePath, modulePath, quoted(sources))
		sums, err := regularfile.ReadFile(filepath.Join(sources, "go.sum"), regularfile.TextBytes)
		if err != nil {
			return ioError(err)
		}
		if err := t.writeFile("go.sum", string(sums)); err != nil {
			return err
		}
	}
	if err := t.writeFile("go.mod", text); err != nil {
		return err
	}
	_, err := goTool(ctx, t.dir, "mod", "tidy")
	return err
}

// quoted returns a path in go.mod's format.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`,()") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// published returns the version of Millrace that this program was built from if
// the go command can download it, otherwise "".
func published() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.Contains(strings.SplitN(modulePath, "/", 2)[0], ".") {
		return "" // a module path without a host cannot be downloaded
	}
	return info.Main.Version
}

// findMillrace returns the folder of Millrace's sources: the one given, the one of the
// module in the current directory, or the one that contains this program.
func (t *template) findMillrace(ctx context.Context) (string, error) {
	if t.Millrace != "" {
		dir, err := filepath.Abs(t.Millrace)
		if err != nil {
			return "", ioError(err)
		}
		if !isMillrace(dir) {
			return "", problem(millrace.ErrConfig, t.Millrace, "does not hold the sources of module %s", modulePath)
		}
		return dir, nil
	}
	if dir, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}", modulePath); err == nil && isMillrace(dir) {
		return dir, nil
	}
	if program, err := os.Executable(); err == nil {
		if file := enclosing(filepath.Dir(program), "go.mod"); file != "" && isMillrace(filepath.Dir(file)) {
			return filepath.Dir(file), nil
		}
	}
	return "", millrace.Errorf(millrace.ErrConfig, "a new go.mod must name a copy of the sources of module %s, and none is near: --millrace FOLDER names it", modulePath)
}

// isMillrace reports whether a folder contains this module.
func isMillrace(dir string) bool {
	text, err := regularfile.ReadFile(filepath.Join(dir, "go.mod"), regularfile.TextBytes)
	return err == nil && bytes.HasPrefix(text, []byte("module "+modulePath+"\n"))
}

// enclosing returns the path of the file of that name in the folder or the next
// one above it, "" if there is none.
func enclosing(dir, name string) string {
	for {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// goTool runs the go command and returns its output, without the last line break. Its
// error contains the command's output.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
	err := childproc.Run(cmd)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errNoGo()
	case ctx.Err() != nil:
		return "", millrace.Canceled(ctx, "go "+args[0])
	case err != nil:
		return "", problem(millrace.ErrConfig, dir, "go %s: %s", strings.Join(args, " "), strings.Join(strings.Fields(said.String()), " "))
	}
	return strings.TrimSpace(out.String()), nil
}

// errNoGo is the error of a machine without Go.
func errNoGo() error {
	return millrace.Errorf(millrace.ErrConfig, "there is no go command: install Go %s or newer", goVersion)
}
