package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress keeps in a file which parts have passed: a line for each, with the time it
// took and its name. Without a file it keeps nothing.
type progress struct {
	file   *os.File
	passed map[string]bool
	spent  time.Duration // earlier runs took this
}

// openProgress opens a file, or makes it if it is absent. A last line without an end is
// left by an interrupted run and is cut off. An empty path means no file.
func openProgress(path string) (*progress, error) {
	p := &progress{passed: make(map[string]bool)}
	if path == "" {
		return p, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	p.file = f
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for i, line := range strings.Split(string(text[:whole]), "\n") {
		if line == "" {
			continue
		}
		took, name, ok := strings.Cut(line, " ")
		d, err := time.ParseDuration(took)
		if !ok || err != nil || name == "" {
			return nil, errors.Join(fmt.Errorf("%s:%d: want a duration and the name of a part, have %.64q", path, i+1, line), f.Close())
		}
		p.passed[name] = true
		p.spent += d
	}
	err = f.Truncate(int64(whole))
	if err == nil {
		_, err = f.Seek(int64(whole), io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// has reports whether a part has passed.
func (p *progress) has(name string) bool { return p.passed[name] }

// add notes that a part has passed.
func (p *progress) add(name string, took time.Duration) error {
	if p.file == nil {
		return nil
	}
	_, err := fmt.Fprintf(p.file, "%s %s\n", took.Round(time.Millisecond), name)
	return err
}
