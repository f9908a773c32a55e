package output

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"millrace"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv("MILLRACE_TEST_CHILD")]; child != nil {
		child(os.Getenv("MILLRACE_TEST_PATH"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are the functions of this test binary as a child process.
var children = map[string]func(path string){
	// hold begins an output, prints a line, and waits to be killed.
	"hold": func(path string) {
		f, err := Create(path, nil)
		if err == nil {
			err = f.Write(everything())
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString("holding\n")
		io.Copy(io.Discard, os.Stdin)
	},
	// whole writes an output of three batches, in several row groups.
	"whole": func(path string) {
		runtime.LockOSThread() // strace counts the calls of each thread
		f, err := Create(path, &Options{Overwrite: true})
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		if p, ok := f.enc.(*table); ok {
			p.limit = 1
		}
		for range 3 {
			if err == nil {
				err = f.Write(everything())
			}
		}
		if err == nil {
			err = f.Commit()
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
	},
	// limit writes with a limit on the size of files, which fails like a full disk.
	"limit": func(path string) {
		limit := unix.Rlimit{Cur: 4096, Max: 4096}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
		f, err := Create(path, nil)
		for err == nil {
			if err = f.Write(everything()); f.Rows() > 1e6 {
				panic("the limit has no effect")
			}
		}
		if closed := f.Close(); closed != nil {
			panic(closed)
		}
		var e *millrace.Error
		if errors.As(err, &e) && errors.Is(err, millrace.ErrIO) && errors.Is(err, syscall.EFBIG) {
			os.Stdout.WriteString(err.Error() + "\n")
		}
	},
}

func child(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_CHILD="+name, "MILLRACE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	cmd := child(t, "hold", path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "holding\n" {
		t.Fatal(line, err)
	}
	if _, err := Create(path, nil); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "another process is writing this output") {
		t.Errorf("while the other process lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the killed process left %s: %v", path, err)
	}
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Write(everything()), f.Commit()); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
	if got, err := os.ReadFile(path); err != nil || string(got) != rows {
		t.Errorf("after the kill: %v, %s", err, got)
	}
}

func TestFull(t *testing.T) {
	for _, format := range formats {
		path := filepath.Join(t.TempDir(), "out"+format.Extensions[0])
		if format.Name == "Parquet" {
			continue // one row group takes more than the test should write; see TestFailAtEachWrite
		}
		out, err := child(t, "limit", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out); !strings.HasPrefix(got, path+": ") || !strings.Contains(got, "file too large, after ") {
			t.Errorf("%s: got %q", format.Name, got)
		}
		onlyFile(t, filepath.Join(filepath.Dir(path), "nothing"))
	}
}

// failing fails one write and all later ones.
type failing struct {
	w    io.Writer
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		n, _ := f.w.Write(p[:len(p)/2])
		return n, f.err
	}
	return f.w.Write(p)
}

// TestFailAtEachWrite lets the first write fail, then the second, and so on until a run
// succeeds.
func TestFailAtEachWrite(t *testing.T) {
	for _, format := range formats {
		for n := 0; ; n++ {
			path := filepath.Join(t.TempDir(), "out"+format.Extensions[0])
			f, err := Create(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.sink.w = &failing{w: f.file, left: n, err: syscall.EIO}
			if p, ok := f.enc.(*table); ok {
				p.limit = 1
			}
			err = f.Write(everything())
			if err == nil {
				err = f.Write(everything())
			}
			if err == nil {
				err = f.Commit()
			}
			if closed := f.Close(); closed != nil {
				t.Error(closed)
			}
			if err == nil {
				onlyFile(t, path)
				if n == 0 {
					t.Errorf("%s: no write failed", format.Name)
				}
				break
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrIO || !errors.Is(err, syscall.EIO) || e.File != path || e.Offset < 0 {
				t.Fatalf("%s, write %d: %v", format.Name, n, err)
			}
			onlyFile(t, filepath.Join(filepath.Dir(path), "nothing"))
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"data/sub", "model", "folder.npz", "locked"} {
		if err := os.MkdirAll(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"old.npz", "in.tfrecord"} {
		if err := os.WriteFile(at(f), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(at("data"), at("link")), os.Symlink(at("nowhere"), at("dangling.npz")), unix.Mkfifo(at("fifo.npz"), 0o644)); err != nil {
		t.Fatal(err)
	}
	inputs := []string{at("data"), at("model"), at("in.tfrecord")}
	tests := []struct {
		path  string
		class millrace.Class
		want  string
	}{
		{at("old.npz"), millrace.ErrConfig, "exists already"},
		{at("data/new.npz"), millrace.ErrConfig, "must not be, or be inside, the input"},
		{at("data/sub/new.npz"), millrace.ErrConfig, "must not be, or be inside, the input"},
		{at("link/new.npz"), millrace.ErrConfig, "must not be, or be inside, the input"},
		{at("model/new.npz"), millrace.ErrConfig, "must not be, or be inside, the input"},
		{at("in.tfrecord"), millrace.ErrConfig, ""},
		{at("folder.npz"), millrace.ErrConfig, "is a folder"},
		{at("fifo.npz"), millrace.ErrConfig, "is not a regular file"},
		{at("absent/new.npz"), millrace.ErrIO, "absent does not exist"},
		{at("old.npz/new.npz"), millrace.ErrIO, "not a directory"},
		{at("new.csv"), millrace.ErrConfig, `extension ".csv"`},
		{at("new"), millrace.ErrConfig, `extension ""`},
	}
	for _, test := range tests {
		f, err := Create(test.path, &Options{Inputs: inputs})
		if err == nil {
			f.Close()
		}
		if err == nil || !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), test.path) {
			t.Errorf("Create(%s)\n got %v\nwant %s: %s", test.path, err, test.class, test.want)
		}
	}
	if f, err := Create(at("database.npz"), &Options{Inputs: inputs}); err != nil {
		t.Errorf("a name that only begins like an input: %v", err)
	} else {
		f.Close()
	}
}

func TestOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		f, err := Create(path, &Options{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(everything()); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "old" {
			t.Errorf("before the end: %s", got)
		}
		want := "old"
		if commit {
			want = rows
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
		onlyFile(t, path)
		if err := f.Commit(); !errors.Is(err, millrace.ErrClosed) {
			t.Errorf("Commit after Close: %v", err)
		}
	}
}

// TestAppeared creates a file with the output's name while the output is being written.
func TestAppeared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(everything()), f.Commit()); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "theirs" {
		t.Errorf("got %s", got)
	}
	onlyFile(t, path)
}

// TestFolderRemoved removes the folder while the output is being written.
func TestFolderRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Create(filepath.Join(dir, "out.ndjson"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(everything()), f.Commit()); !errors.Is(err, millrace.ErrIO) || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 240)+".ndjson")
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Write(everything()), f.Commit()); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
}

func TestSameBytes(t *testing.T) {
	for _, format := range formats {
		one, err := os.ReadFile(save(t, "one"+format.Extensions[0], everything(), everything()))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(save(t, "two"+format.Extensions[0], everything(), everything()))
		if err != nil || string(one) != string(two) {
			t.Errorf("%s: two runs gave two files, %v", format.Name, err)
		}
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest")
	if err := WriteFile(path, []byte("one"), false); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("two"), false); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("got %v", err)
	}
	if err := WriteFile(path, []byte("two"), true); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two" {
		t.Errorf("got %s, %v", got, err)
	}
	onlyFile(t, path)
}
