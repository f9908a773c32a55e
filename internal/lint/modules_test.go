package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// required matches a requirement of a go.mod, direct or indirect.
var required = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)(?: // indirect)?$`)

// requirements returns the versions that a go.mod names, by module.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		versions[m[1]] = m[2]
	}
	return versions
}

// The workspace has the library and the modules of programs, all with the same versions
// of their dependencies.
func TestModules(t *testing.T) {
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"./examples/service"} // part of the workspace for convenience; users build it with GOWORK=off
	for _, p := range programs {
		want = append(want, "./"+p)
	}
	slices.Sort(want)
	got := regexp.MustCompile(`(?m)^\t(\./?\S*)$`).FindAllStringSubmatch(string(work), -1)
	var listed []string
	for _, m := range got {
		if m[1] != "." {
			listed = append(listed, m[1])
		}
	}
	if !slices.Equal(listed, want) || !strings.Contains(string(work), "\t.\n") {
		t.Errorf("go.work uses %q, want . and %q", listed, want)
	}
	library := requirements(t, "go.mod")
	for _, p := range programs {
		for module, version := range requirements(t, p+"/go.mod") {
			if has, ok := library[module]; ok && has != version {
				t.Errorf("%s/go.mod requires %s %s, go.mod %s", p, module, version, has)
			}
		}
		text, err := os.ReadFile(filepath.Join(root, p, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "replace "+module+" => ../\n") {
			t.Errorf("%s/go.mod does not replace %s by the folder above", p, module)
		}
	}
}
