package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"millrace"
	"millrace/internal/base/childproc"
)

// pips are the commands under which pip may be installed.
var pips = [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}, {"python", "-m", "pip"}}

// findPip returns the first command of pips that works.
func findPip(ctx context.Context) ([]string, error) {
	for _, pip := range pips {
		if _, err := exec.LookPath(pip[0]); err != nil {
			continue
		}
		if exec.CommandContext(ctx, pip[0], append(pip[1:], "--version")...).Run() == nil {
			return pip, nil
		}
	}
	return nil, millrace.Errorf(millrace.ErrRuntime, "pip is missing, which downloads TensorFlow: install Python 3 with pip (Debian: apt install python3-pip), or pass a local wheel with --from")
}

// download downloads the pinned wheel with pip and returns the wheel's path. pip
// handles mirrors, proxies and certificates; the hash determines which file to accept.
func (in *installer) download(ctx context.Context) (string, error) {
	pip, err := in.Pip, error(nil)
	if pip == nil {
		pip, err = findPip(ctx)
	}
	if err != nil {
		return "", canceled(ctx, err)
	}
	if err := in.roomForWheel(); err != nil {
		return "", err
	}
	in.say("downloading %s %s (%d MB) with %s", in.pin.Package, in.pins.Version, (in.pin.Size+5e5)/1e6, strings.Join(pip, " "))
	dir := filepath.Join(in.work, "download")
	if err := in.fetch(ctx, pip, dir); err != nil {
		return "", canceled(ctx, err)
	}
	path := filepath.Join(dir, in.pin.File)
	if _, err := os.Stat(path); err != nil {
		return "", millrace.Errorf(millrace.ErrRuntime, "pip did not download %s", in.pin.File)
	}
	return path, nil
}

// fetch runs pip with a requirement that names the version and the hash.
func (in *installer) fetch(ctx context.Context, pip []string, dir string) error {
	tmp := filepath.Join(in.work, "tmp")
	for _, d := range []string{dir, tmp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return ioError(err)
		}
	}
	requirements := filepath.Join(in.work, "requirements.txt")
	line := fmt.Sprintf("%s==%s --hash=sha256:%s\n", in.pin.Package, in.pins.Version, in.pin.SHA256)
	if err := os.WriteFile(requirements, []byte(line), 0o644); err != nil {
		return ioError(err)
	}
	args := append(pip[1:len(pip):len(pip)], "download", "--no-deps", "--only-binary=:all:",
		"--implementation=cp", "--python-version="+in.pins.Python, "--abi=cp"+in.pins.Python,
		"--platform="+platform(in.pin.File), "--dest="+dir, "--require-hashes", "--requirement="+requirements)
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1")
	cmd.WaitDelay = time.Second
	cmd.Stderr = &said
	if f, ok := in.Progress.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cmd.Stdout = f // pip's own progress bar
	} else {
		cmd.Args = append(cmd.Args, "--quiet")
	}
	if err := childproc.Run(cmd); err != nil {
		return millrace.Errorf(millrace.ErrRuntime, "%s could not download %s %s: %w%s", strings.Join(pip, " "), in.pin.Package, in.pins.Version, err, tail(said.Bytes()))
	}
	return nil
}

// platform returns the platform tag of a wheel's name, its last part.
func platform(file string) string {
	tag := strings.TrimSuffix(file, ".whl")
	return tag[strings.LastIndexByte(tag, '-')+1:]
}

// maxTail is the number of bytes of pip's or a compiler's output that an error repeats.
const maxTail = 1000

// tail returns the end of a command's output, indented and without control codes.
func tail(said []byte) string {
	said = bytes.TrimSpace(said)
	if len(said) > maxTail {
		said = said[len(said)-maxTail:]
	}
	var b strings.Builder
	for line := range bytes.Lines(said) {
		b.WriteString("\n\t" + strings.Map(printable, string(bytes.TrimSpace(line))))
	}
	return b.String()
}

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}
