package lint

import (
	"go/ast"
	"go/build"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "millrace"

// layers lists our folders from the bottom up. A file imports from its own layer and
// those before it. A folder belongs to the layer of its longest prefix.
var layers = [][]string{
	{"."},
	{"dtype", "cgo", "diag"},
	{"internal", "observe", "sandbox", "remote", "tfrecord", "sigdef", "savedmodel", "loaders/decl", "loaders/chunks", "loaders/permutation", "loaders/quarantine", "loaders/service"},
	{"tfbridge"},
	{"graph", "internal/test/tfmain", "internal/test/graphtest", "internal/test/datasettest"},
	{"graph/tf1", "internal/test/failedscope"},
	{"loaders/processing", "loaders/loadertype"},
	{"loaders/spec", "loaders/scan"},
	{"loaders/size"},
	{"loaders/engine"},
	{"loaders/stage"},
	{"loaders/plan", "loaders/writer"},
	{"loaders/build"},
	{"loaders/run"},
	{"loaders"},
	{"internal/tool"},
	{"estimator"},
	{"serving"},
	{"internal/tool/report"},
	{"cmd", "examples", "docs", "bench", "deploy", "gen", "mutate"},
}

// forTests are packages that only tests import.
const forTests = module + "/internal/test/"

// programs are the folders that are separate modules. Other folders do not import them.
var programs = []string{"bench", "deploy", "gen", "mutate"}

// layer returns the index of a folder's layer, -1 if it has none.
func layer(dir string) int {
	best, at := -1, -1
	for i, folders := range layers {
		for _, f := range folders {
			if (dir == f || strings.HasPrefix(dir, f+"/")) && len(f) > best {
				best, at = len(f), i
			}
		}
	}
	return at
}

// top returns the first element of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func TestImports(t *testing.T) {
	each(t, func(s *source) {
		if layer(s.dir()) < 0 {
			t.Errorf("%s: the folder belongs to no layer; add it to layers", s.path)
		}
		for _, spec := range s.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if imp == "C" && s.dir() != "tfbridge" {
				t.Errorf(`%s imports "C"; only tfbridge may`, s.at(spec.Pos()))
			}
			if s.test() {
				continue
			}
			if strings.HasPrefix(imp, forTests) && !strings.HasPrefix(s.path, "internal/test/") && !slices.Contains(programs, top(s.path)) {
				t.Errorf("%s imports %s, which is for tests only", s.at(spec.Pos()), imp)
			}
			if p := top(strings.TrimPrefix(imp, module+"/")); slices.Contains(programs, p) && p != top(s.path) {
				t.Errorf("%s imports %s, which belongs to another module", s.at(spec.Pos()), imp)
			}
			if imp == module {
				imp = module + "/."
			}
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok && layer(ours) > layer(s.dir()) {
				t.Errorf("%s imports %s, which is above it", s.at(spec.Pos()), ours)
			}
		}
	})
}

// A build without cgo compiles one file of tfbridge, whose error explains what to do.
// Any other file would add further errors. A program that does not use TensorFlow needs
// no cgo.
func TestWithoutCgo(t *testing.T) {
	files := func(cgo bool) []string {
		ctxt := build.Default
		ctxt.CgoEnabled = cgo
		pkg, err := ctxt.ImportDir(filepath.Join(root, "tfbridge"), 0)
		if err != nil {
			t.Fatal(err)
		}
		return append(pkg.GoFiles, pkg.CgoFiles...)
	}
	const remedy = "needs_cgo.go"
	if got := files(false); !slices.Equal(got, []string{remedy}) {
		t.Errorf("without cgo tfbridge consists of %q, want %s alone; begin the others with //go:build cgo", got, remedy)
	}
	if slices.Contains(files(true), remedy) {
		t.Errorf("%s is part of a build with cgo", remedy)
	}
}

// noTensorFlow are the steps of a loader that must run without TensorFlow, and the
// imports that are therefore forbidden. Data types come from tfbridge.
var noTensorFlow = []string{"loaders/chunks", "loaders/decl", "loaders/spec", "loaders/scan", "loaders/size", "loaders/engine", "loaders/stage", "loaders/plan"}

// Checking and planning a loader build no graph and open no runtime.
func TestPlansNeedNoTensorFlow(t *testing.T) {
	each(t, func(s *source) {
		if s.test() || !slices.Contains(noTensorFlow, s.dir()) {
			return
		}
		for _, spec := range s.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if imp == module+"/graph" || strings.HasPrefix(imp, module+"/graph/") {
				t.Errorf("%s imports %s; %s works where no TensorFlow is", s.at(spec.Pos()), imp, s.dir())
			}
		}
		if call := tensorFlow.Find(s.text); call != nil {
			t.Errorf("%s uses %s; %s works where no TensorFlow is", s.path, call, s.dir())
		}
	})
}

// tensorFlow matches names of tfbridge other than data types.
var tensorFlow = regexp.MustCompile(`\btfbridge\.(Open|New[A-Z]\w*|Load\w*|Tensor|Graph|Session|Output|Operation|Runtime\w*|FindRuntime)\b`)

// namesLoaderTypes are the files that may name a loader type: its declaration, its
// check, and the table of builders. All other files use properties of a config, so that
// a new type does not change them.
var namesLoaderTypes = []string{
	"loaders/spec/loader_type.go", "loaders/spec/independent.go", "loaders/spec/window.go",
}

// typeNames matches the constants and the arguments of the loader types.
var typeNames = regexp.MustCompile(`\b(Independent|ContinuousSequence|DiscreteSequence|IndependentArgs|ContinuousArgs|DiscreteArgs)\b`)

func TestLoaderTypesInOnePlace(t *testing.T) {
	each(t, func(s *source) {
		if s.test() || s.generated || slices.Contains(namesLoaderTypes, s.path) {
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && typeNames.MatchString(id.Name) {
				t.Errorf("%s: %s: only %v name a loader type", s.at(id.Pos()), id.Name, namesLoaderTypes)
			}
			return true
		})
	})
}

// alone are packages for users that other packages must not import: thousands of
// functions, and the client of Prometheus. Examples count as users.
var alone = []string{"graph/op", "observe/prometheus"}

// mayImportAlone are tests of packages for users.
const mayImportAlone = "internal/test/failedscope"

func TestNothingImportsPackagesForUsers(t *testing.T) {
	each(t, func(s *source) {
		for _, spec := range s.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			ours, _ := strings.CutPrefix(imp, module+"/")
			if slices.Contains(alone, ours) && s.dir() != ours && s.dir() != mayImportAlone && !strings.HasPrefix(s.dir(), "examples/") {
				t.Errorf("%s imports %s, which is for users only", s.at(spec.Pos()), imp)
			}
		}
	})
}

// knowsNot maps folders to forbidden imports: the packages around TensorFlow must not
// depend on configs or files of models.
var knowsNot = map[string][]string{
	"tfbridge":      {"loaders", "savedmodel"},
	"graph/dataset": {"loaders", "savedmodel"},
	"graph/tf1":     {"loaders"},
	"savedmodel":    {"loaders", "tfbridge", "graph"},
	"internal/base": {"loaders", "savedmodel", "tfbridge", "graph", "internal/tool"},
}

func TestKnowsNot(t *testing.T) {
	under := func(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }
	each(t, func(s *source) {
		for dir, others := range knowsNot {
			if !under(s.dir(), dir) || s.test() {
				continue
			}
			for _, spec := range s.file.Imports {
				imp, _ := strconv.Unquote(spec.Path.Value)
				ours, ok := strings.CutPrefix(imp, module+"/")
				if ok && slices.ContainsFunc(others, func(o string) bool { return under(ours, o) }) {
					t.Errorf("%s imports %s; %s knows nothing of it", s.at(spec.Pos()), imp, dir)
				}
			}
		}
	})
}

// plain are packages that depend neither on graphs nor on C, and only on the listed
// packages of this module.
var plain = map[string][]string{
	"dtype":                 {"."},
	"diag":                  {"."},
	"internal/base/jsonpos": {"."},
}

func TestPlainImports(t *testing.T) {
	each(t, func(s *source) {
		allowed, ok := plain[s.dir()]
		if !ok || s.test() {
			return
		}
		for _, spec := range s.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			ours := imp == module || strings.HasPrefix(imp, module+"/")
			standard := !ours && !strings.Contains(strings.Split(imp, "/")[0], ".")
			if imp == module {
				imp = module + "/."
			}
			if !standard && !slices.Contains(allowed, strings.TrimPrefix(imp, module+"/")) {
				t.Errorf("%s imports %s; %s stays with the standard library", s.at(spec.Pos()), imp, s.dir())
			}
		}
	})
}

// mayReadEnv are the places that may read environment variables: programs, the search
// for the runtime and its logging, and the sandbox, which needs the folders of the
// dynamic linker and of temporary files.
var mayReadEnv = []string{"cmd/", "examples/", "bench/", "tfbridge/find.go", "tfbridge/stderr.go", "sandbox/temp.go", "sandbox/system_linux.go", "internal/tool/install/pip.go", "mutate/", "internal/test/testruntime/", "internal/test/address/own_process.go", "internal/test/soak/", "internal/test/killstep/", "internal/test/soakrun/", "gen/protogen/"}

func TestEnvironment(t *testing.T) {
	readers := []string{"os.Getenv(", "os.LookupEnv(", "os.Environ("}
	each(t, func(s *source) {
		if s.test() || slices.ContainsFunc(mayReadEnv, func(p string) bool { return strings.HasPrefix(s.path, p) }) {
			return
		}
		for _, r := range readers {
			if strings.Contains(string(s.text), r) {
				t.Errorf("%s calls %s...); libraries read no environment", s.path, r)
			}
		}
	})
}
