package tfbridge

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/runtimedir"
	"millrace/internal/test/testruntime"
)

// children are the functions that the test binary can run instead of its tests.
var children = map[string]func(){
	"unstage": unstageChild,
	"crash":   crashChild,
	"open": func() {
		_, err := Open(nil)
		report(err)
	},
	"use": func() {
		for _, err := range []error{
			second(NewTensor(int64(1))),
			second(NewGraph().AddOperation(OpSpec{Type: "NoOp"})),
			second(LoadSavedModel("nowhere", []string{"serve"}, nil)),
			second(OpList()),
			second(ImportFunction([]byte("x"))),
			second(LoadLibrary("nowhere")),
		} {
			report(err)
		}
		g := NewGraph()
		fmt.Printf("%q %v %v %v\n", Version(), g.Operation("x"), g.Operations(), g.Close())
	},
	"quiet": func() {
		if _, err := Open(nil); err != nil {
			report(err)
		}
		m, err := LoadSavedModel(models+"linear", []string{"serve"}, nil)
		if err != nil {
			report(err)
			return
		}
		typoChild(m)
		report(m.Close())
	},
	"verbose": func() {
		_, err := Open(&RuntimeOptions{Verbose: true})
		report(err)
	},
	"later": func() {
		_, err := Open(&RuntimeOptions{Dir: os.Getenv("BAD_DIR")})
		report(err)
		_, err = Open(nil)
		report(err)
		_, err = Open(&RuntimeOptions{Dir: os.Getenv("BAD_DIR")})
		report(err)
	},
	"other": func() {
		_, err := Open(nil)
		report(err)
		_, err = Open(&RuntimeOptions{Dir: os.Getenv("OTHER_DIR")})
		report(err)
	},
	"blocked":  blockedChild,
	"plugin":   pluginChild,
	"loop":     loopChild,
	"pressure": pressureChild,
	"pointers": pointersChild,
	"prelinked": func() {
		r, err := Open(nil)
		fmt.Println(err == nil && r.Prelinked(), err)
	},
	"deterministic": func() {
		if _, err := Open(&RuntimeOptions{Deterministic: true}); err != nil {
			report(err)
			return
		}
		b := &build{t: &testing.T{}, g: NewGraph()}
		shape := b.constant("shape", []int32{2})
		for _, seed := range []int64{0, 7} {
			attrs := map[string]any{"dtype": Float, "seed": seed, "seed2": seed}
			random := b.out("RandomUniform", fmt.Sprintf("random%d", seed), attrs, shape)
			s, err := NewSession(b.g, nil)
			if err != nil {
				report(err)
				return
			}
			out, err := s.Run(nil, []Output{random}, nil)
			fmt.Println(seed, err == nil, os.Getenv(deterministicOps) == "")
			closeAll(out)
			s.Close()
		}
	},
}

// typoChild reads a file with an unknown compression, for which TensorFlow
// logs an error.
func typoChild(m *SavedModel) {
	b := &build{t: &testing.T{}, g: m.Graph} // its cleanups never run: the process ends soon
	one := map[string]any{"output_types": []DataType{String}, "output_shapes": []Shape{ScalarShape()}}
	it := b.out("IteratorV2", "it", map[string]any{"shared_name": "", "container": "", "output_types": one["output_types"], "output_shapes": one["output_shapes"]})
	ds := b.out("TFRecordDataset", "ds", nil, b.constant("file", os.Args[0]), b.constant("typo", "LZ4"), b.constant("size", int64(0)))
	start := b.op(OpSpec{Type: "MakeIterator", Name: "start", Input: []Input{ds, it}})
	if _, err := m.Session.Run(nil, nil, []*Operation{start}); err != nil {
		report(err)
	}
	if _, err := m.Session.Run(nil, []Output{b.out("IteratorGetNext", "next", one, it)}, nil); !errors.Is(err, DataLoss) {
		report(err)
	}
}

func second[T any](_ T, err error) error { return err }

// report prints an error and its class.
func report(err error) {
	fmt.Printf("%v: %v\n", errors.Is(err, millrace.ErrRuntime), err)
}

// A deterministic runtime refuses operations whose results would differ from run to
// run.
func TestDeterministic(t *testing.T) {
	testruntime.Need(t)
	out, ok := child(t, "deterministic", deterministicOps+"=")
	if want := "0 false true\n7 true true\n"; !ok || out != want {
		t.Errorf("child\n got %s\nwant %s", out, want)
	}
}

func TestOpenMissing(t *testing.T) {
	out, ok := child(t, "open", RuntimeEnv+"=/nonexistent")
	if !ok {
		t.Fatalf("child died:\n%s", out)
	}
	wantText(t, out, "true: /nonexistent: no TensorFlow 2.21.x found", "type millrace runtime install", RuntimeEnv)

	home := t.TempDir()
	out, _ = child(t, "open", RuntimeEnv+"=", "HOME="+home, "XDG_CACHE_HOME=")
	wantText(t, out, "true: "+filepath.Join(home, ".cache/millrace/runtime/2.21.0-cpu")+": no TensorFlow")

	out, ok = child(t, "use", RuntimeEnv+"=/nonexistent")
	if !ok {
		t.Fatalf("child died:\n%s", out)
	}
	if got := strings.Count(out, "true: /nonexistent"); got != 6 {
		t.Errorf("calls that name the missing runtime: got %d, want 6\n%s", got, out)
	}
	wantText(t, out, `"" <nil> [] <nil>`)
}

func TestOpenBroken(t *testing.T) {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	machine := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_X86_64
	}
	other := slices.Clone(self)
	other[16], other[18] = byte(elf.ET_DYN), byte(machine)
	cut := slices.Clone(self)
	cut[16] = byte(elf.ET_DYN)
	tests := []struct {
		name     string
		contents []byte
		want     string
	}{
		{"empty", nil, "not a shared library"},
		{"text", []byte("<html>404</html>"), "not a shared library"},
		{"program", self, "not a shared library"},
		{"machine", other, "for another machine: " + machine.String()},
		{"cut", cut[:len(cut)/2], ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range runtimedir.Libraries {
				if err := os.WriteFile(filepath.Join(dir, name), tt.contents, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, ok := child(t, "open", RuntimeEnv+"="+dir)
			if !ok {
				t.Fatalf("child died:\n%s", out)
			}
			wantText(t, out, "true: "+dir, tt.want, "type millrace runtime install")
		})
	}
}

// A library that opens but is not TensorFlow lacks its functions.
func TestOpenMissingSymbol(t *testing.T) {
	libm, err := filepath.Glob("/lib/*-linux-gnu/libm.so.6")
	if err != nil || len(libm) == 0 {
		t.Skip("no libm.so.6 to stand in for a library without the symbols")
	}
	dir := t.TempDir()
	for _, name := range runtimedir.Libraries {
		if err := os.Symlink(libm[0], filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := child(t, "open", RuntimeEnv+"="+dir)
	wantText(t, out, "true: "+dir, "symbol TF_Version is missing")
}

// The libraries of a directory without runtime.json are opened with all symbols
// resolved.
func TestOpenElsewhere(t *testing.T) {
	testruntime.Need(t)
	r, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, name := range runtimedir.Libraries {
		to := []string{name, "libtensorflow.so.2"}[i] // as in TensorFlow's C package
		if err := os.Symlink(filepath.Join(r.Dir(), name), filepath.Join(dir, "lib", to)); err != nil {
			t.Fatal(err)
		}
	}
	out, ok := child(t, "other", RuntimeEnv+"="+dir, "OTHER_DIR="+r.Dir())
	if !ok {
		t.Fatalf("child died:\n%s", out)
	}
	wantText(t, out, "false: <nil>\n", "true: open TensorFlow in "+r.Dir()+": this process uses the one in "+dir)
}

func TestOpenAgain(t *testing.T) {
	testruntime.Need(t)
	bad := t.TempDir()
	out, ok := child(t, "later", "BAD_DIR="+bad)
	if !ok {
		t.Fatalf("child died:\n%s", out)
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "true: "+bad) || lines[1] != "false: <nil>" || !strings.HasPrefix(lines[2], "true: "+bad) {
		t.Errorf("open a bad directory, the good one, the bad one:\n%s", out)
	}
}

func TestOpenQuiet(t *testing.T) {
	testruntime.Need(t)
	out, ok := child(t, "quiet", "TF_CPP_MIN_LOG_LEVEL=")
	if !ok || out != "false: <nil>\n" {
		t.Errorf("output of opening and a session\n got %q\nwant none from TensorFlow", out)
	}
}

func TestOpenVerbose(t *testing.T) {
	testruntime.Need(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("TensorFlow says something as it opens on x86-64 only")
	}
	out, _ := child(t, "verbose", "TF_CPP_MIN_LOG_LEVEL=0")
	wantText(t, out, "false: <nil>", "oneDNN")
}

func TestVersion(t *testing.T) {
	testruntime.Need(t)
	if got := Version(); !strings.HasPrefix(got, versionPrefix) {
		t.Errorf("Version() = %q, want 2.21.x", got)
	}
}

// A symbol of TensorFlow's that our program exported would replace libtensorflow's own.
// TF_InitPlugin is not such a symbol: TensorFlow looks it up in each plug-in, and for a Go
// file system this program is the plug-in.
func TestNoSymbolsExported(t *testing.T) {
	f, err := elf.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "TF_InitPlugin" {
			continue
		}
		if strings.HasPrefix(s.Name, "TF_") || strings.HasPrefix(s.Name, "mr_") {
			t.Errorf("symbol %s is exported", s.Name)
		}
	}
}

func TestReplayKeepsWhatOthersWrote(t *testing.T) {
	for line, want := range map[string]bool{
		"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n": true,
		"I0000 00:00:1795238018.653764   14155 port.cc:153] oneDNN custom operations are on.\n":    true,
		"2026-01-02 03:04:05.678901: I tensorflow/core/util/port.cc:153] oneDNN\n":                 true,
		"2026/01/02 03:04:05 ready\n": false,
		"panic: something\n":          false,
	} {
		if got := startupLog.MatchString(line); got != want {
			t.Errorf("startupLog %q: got %v, want %v", line, got, want)
		}
	}
}
