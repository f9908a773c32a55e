package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

const (
	script       = "bench/bench_python.py"
	requirements = "bench/requirements.txt"
)

// python is TensorFlow's own side.
type python struct {
	files
	program string
	extra   []string // arguments for every measurement
}

// prepare finds or makes an interpreter with TensorFlow, and lets it make the
// model.
func (p *python) prepare(ctx context.Context) error {
	if p.program == "" {
		program, err := environment(ctx, filepath.Join(p.dir, "venv"), requirements)
		if err != nil {
			return fmt.Errorf("virtual environment: %w", err)
		}
		p.program = program
	}
	if _, err := os.Stat(filepath.Join(p.model, "saved_model.pb")); err == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "making the model")
	var made struct{}
	return p.run(ctx, &made, "model", p.model)
}

// environment returns the Python of a virtual environment with the requirements of some
// files. It makes the environment if it does not exist or was made with other
// requirements: the file "ready", which is written last, holds a copy of them.
func environment(ctx context.Context, dir string, files ...string) (string, error) {
	program, ready := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "ready")
	install := []string{program, "-m", "pip", "install", "--quiet"}
	var wanted []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, text...)
		install = append(install, "-r", file)
	}
	if has, err := os.ReadFile(ready); err == nil && bytes.Equal(has, wanted) {
		return program, nil
	}
	fmt.Fprintf(os.Stderr, "making a virtual environment in %s (once; some minutes)\n", dir)
	for _, args := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		install,
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%v: %w", args, err)
		}
	}
	return program, os.WriteFile(ready, wanted, 0o666)
}

// rate measures one mode's records/s.
func (p *python) rate(ctx context.Context, mode string, args ...string) (r pythonRate, err error) {
	err = p.run(ctx, &r, append([]string{mode, p.data}, args...)...)
	return r, err
}

// rates measures jobs. They are the script's last argument, as JSON.
func rates[Job any](ctx context.Context, p *python, jobs []Job, args ...string) ([]pythonRate, error) {
	text, err := json.Marshal(jobs)
	if err != nil {
		return nil, err
	}
	var got []pythonRate
	if err := runJSON(ctx, &got, p.program, append(args, string(text))...); err != nil {
		return nil, err
	}
	if len(got) != len(jobs) {
		return nil, fmt.Errorf("python measured %d of %d jobs", len(got), len(jobs))
	}
	return got, nil
}

// start measures a pass from the start of the process.
func (p *python) start(ctx context.Context, args ...string) (s pythonStart, err error) {
	begun := strconv.FormatFloat(float64(time.Now().UnixNano())/1e9, 'f', -1, 64)
	err = p.run(ctx, &s, append([]string{"start", p.data, "--begun", begun}, args...)...)
	return s, err
}

// run runs the script and decodes what it prints.
func (p *python) run(ctx context.Context, result any, args ...string) error {
	return runJSON(ctx, result, p.program, append(append([]string{script}, args...), p.extra...)...)
}

// runJSON runs a program and decodes the JSON that it prints.
func runJSON(ctx context.Context, result any, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	stderr := &tail{}
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s %v: %w\n%s", program, args, err, stderr.text)
	}
	if err := json.Unmarshal(out, result); err != nil {
		return fmt.Errorf("%s %v did not print JSON: %w", program, args, err)
	}
	return nil
}

// tail keeps the last bytes that are written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}
