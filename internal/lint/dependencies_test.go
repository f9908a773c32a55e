package lint

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// light are the modules that a program with loaders and estimator requires. With their
// own requirements, its go.mod has nine indirect requirements.
var light = []string{
	"github.com/invopop/jsonschema", "github.com/klauspost/compress", "golang.org/x/sync", "golang.org/x/sys", "google.golang.org/protobuf",
}

// A user's program does not download libraries for Parquet, plots, servers or terminals
// unless it imports a package that needs them.
func TestLightDependencies(t *testing.T) {
	imports := map[string][]string{} // key: a folder; value: the imports of its programs
	each(t, func(s *source) {
		if s.test() {
			return
		}
		for _, spec := range s.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			imports[s.dir()] = append(imports[s.dir()], imp)
		}
	})
	via := map[string]string{"loaders": "", "estimator": ""} // folder to its importer
	for queue := []string{"loaders", "estimator"}; len(queue) > 0; queue = queue[1:] {
		if imports[queue[0]] == nil {
			t.Fatalf("%s, imported by %s, has no files", queue[0], via[queue[0]])
		}
		for _, imp := range imports[queue[0]] {
			if imp == module {
				imp = module + "/."
			}
			ours, found := strings.CutPrefix(imp, module+"/")
			if _, seen := via[ours]; found && !seen {
				via[ours] = queue[0]
				queue = append(queue, ours)
			}
			if host, _, _ := strings.Cut(imp, "/"); !found && strings.Contains(host, ".") && !slices.ContainsFunc(light, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }) {
				t.Errorf("%s imports %s: every program that imports loaders or estimator would download it", queue[0], imp)
			}
		}
	}
}
