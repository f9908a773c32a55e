package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
)

// watchdog is longer than any of these processes can take, and shorter than a hang.
const watchdog = 2 * time.Minute

// ceiling is the memory, in bytes, that a process may take which only reports errors:
// the library and a good deal more, but not what the data claims.
const ceiling = 700 << 20

// lethal are data files that each crash TensorFlow's process, or make it allocate the
// memory that they claim.
func lethal() []corrupt.Case {
	var all []corrupt.Case
	for _, c := range corrupt.Cases() {
		switch c.Row {
		case "C14", "C15", "C16", "C17", "C38", "C39":
			all = append(all, c)
		}
	}
	return append(all,
		corrupt.Case{Row: "C39", Name: "a gigabyte in a record", Compression: "gzip", Data: corrupt.Bomb(1 << 30)},
		corrupt.Case{Row: "R2", Name: "a string of 2^31 bytes", Data: corrupt.Frame(corrupt.HugeString("id"))},
		corrupt.Case{Row: "R2", Name: "unpacked floats", Data: corrupt.Frame(corrupt.Unpacked(1, 2_000_000))})
}

// No data crashes the process or makes it allocate what the data claims: there is an
// exit code, an error that names the file, and a bound on memory (V1, V6).
func TestProcessLives(t *testing.T) {
	testruntime.Need(t)
	for _, c := range lethal() {
		t.Run(c.Row+" "+c.Name, func(t *testing.T) {
			t.Parallel()
			d := fixture.New(t)
			if c.Compression != "" {
				d.Manifest["compression"] = c.Compression
			}
			d.Manifest["features"] = []fixture.Object{
				{"name": "id", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
				{"name": "vals", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
			}
			d.Args["primary_features"] = []fixture.Object{{"from_name": "vals", "to_name": "vals"}}
			if strings.Contains(c.Name, "string") {
				d.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}}
			}
			d.Write(t, "a.tfrecords", c.Data)
			d.Save(t)
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			defer cancel()
			cmd := exec.CommandContext(ctx, "millrace", "dump", d.Config())
			said, code := finished(t, cmd)
			if code != 3 && code != 6 || !strings.Contains(said, filepath.Join(d.Data(), "a.tfrecords")) {
				t.Errorf("exit code %d, %s", code, said)
			}
			usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if ok && usage.Maxrss<<10 > ceiling {
				t.Errorf("it took %d MiB", usage.Maxrss>>10)
			}
		})
	}
}
