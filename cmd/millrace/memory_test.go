package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/test/corrupt"
)

// mostMemory is what commands that only look at files may take, in KiB: the program itself takes 60 MiB, and the
// longest record that they allow 256 MiB.
const mostMemory = 700 << 10

// Hostile files end inspect, index, report, convert and quarantine with an error that names them or with a result,
// and with little memory. Each command is a process.
func TestCommandMemory(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte, size int64) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666)); err != nil {
			t.Fatal(err)
		}
		if size > 0 {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	index := append([]byte("MRINDEX\x00\x01\x00\x00\x00\x00\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 64)...)
	file("claims/a.tfrecords", corrupt.Header(1<<40), 0)
	file("hole/a.tfrecords", corrupt.File(), 1<<40)
	file("bomb/a.tfrecords.gz", corrupt.Bomb(1<<30), 0)
	file("names/a.tfrecords", corrupt.Frame(bytes.Repeat([]byte{0x0a, 0x00}, 4<<20)), 0)
	file("unpacked/a.tfrecords", corrupt.Frame(corrupt.Unpacked(1, 4_000_000)), 0)
	file("indexed/a.tfrecords", corrupt.File(), 0)
	file("indexed/a.tfrecords.millrace-index", index, 1<<40)
	file("manifest/__manifest__.json", []byte(`{"features":[`), 1<<40)
	file("manifest/a.tfrecords", corrupt.File(), 0)
	file("run/run.json", []byte(`{}`), 0)
	file("run/log.ndjson", []byte(`{"step":1,"loss":`+strings.Repeat("[", 8<<20)), 1<<33)
	file("config/run.json", nil, 1<<40)
	file("in/a.ndjson", []byte(`{"x": "`), 1<<40)
	file("in/b.ndjson", append([]byte(`{"x": `), bytes.Repeat([]byte("["), 8<<20)...), 0)
	file("in/a.csv", []byte("x\n\""), 1<<40)
	file("in/quotes.csv", append([]byte("x\n"), bytes.Repeat([]byte(`"`), 64<<20-1)...), 0)
	file("in/a.parquet", []byte("PAR1\xff\xff\xff\x7fPAR1"), 0)
	file("in/a.npy", []byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"), 1<<33)
	file("ledger.ndjson", bytes.Repeat([]byte(`{"file":"indexed/a.tfrecords","ordinal":0,"offset":0,"length":9223372036854775807}`+"\n"), 100), 0)
	commands := []string{
		"report run --out page.html", "report config --out page.html", "quarantine extract ledger.ndjson bad.tfrecords",
		"convert in/a.ndjson --out out1", "convert in/b.ndjson --out out2", "convert in/a.csv --out out3", "convert in/a.parquet --out out4", "convert in/a.npy --out out5",
		"convert in/quotes.csv --out out6",
	}
	for _, data := range []string{"claims", "hole", "bomb", "names", "unpacked", "indexed", "manifest"} {
		commands = append(commands, "inspect "+data, "index "+data)
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			defer cancel()
			cmd := exec.CommandContext(ctx, "millrace", strings.Fields(command)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))
			said, code := finished(t, cmd)
			named := strings.Contains(said, strings.Fields(command)[1]) || strings.Contains(said, "indexed")
			if code < 0 || code > 7 || code > 0 && !named || len(said) > 20_000 {
				t.Errorf("exit code %d: %.1000s", code, said)
			}
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > mostMemory {
				t.Errorf("it took %d MiB", usage.Maxrss>>10)
			}
		})
	}
}
