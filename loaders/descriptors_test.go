package loaders_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/fixture"
	"millrace/internal/testruntime"
	"millrace/loaders"

	"golang.org/x/sys/unix"
)

// Where no more files can be opened that is an i/o error, though TensorFlow
// says that resources are exhausted (C47).
func TestTooManyOpenFiles(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	for name, value := range map[string]any{
		"shuffle": true, "num_shuffle_buffer_elements": 1, "num_filenames_shuffle_buffer": 1, "num_mix_files": 16, "num_parallel_reads": 16,
	} {
		d.Args[name] = value
	}
	for i := range int64(40) {
		d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Record(i))
	}
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lowerLimit(t)
	var last error
	for _, err := range l.Batches(t.Context()) {
		last = err
	}
	if !errors.Is(last, millrace.ErrIO) || !strings.Contains(strings.ToLower(last.Error()), "too many open files") {
		t.Errorf("got %v", last)
	}
}

// lowerLimit lets hardly another file be opened until the test ends.
func lowerLimit(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(entries)), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	})
}
