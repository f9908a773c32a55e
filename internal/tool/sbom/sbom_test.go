package sbom

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	"millrace/internal/base/runtimedir"
)

// Modules have a purl as the ecosystem of Go writes it, a replaced module is the one that is linked, and the
// runtime names its wheel and its libraries. The test of the folder deploy holds a whole bill against
// CycloneDX's schema.
func TestWrite(t *testing.T) {
	wheel := runtimedir.Pinned().Wheels[0]
	info := &debug.BuildInfo{GoVersion: "go1.26.1", Deps: []*debug.Module{
		{Path: "github.com/BurntSushi/toml", Version: "v1.2.3+incompatible", Sum: "h1:x="},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}},
	}}
	in := &runtimedir.Installed{Version: "2.21.0", Variant: "cpu", Source: wheel.File, SourceSHA256: wheel.SHA256, Libraries: []runtimedir.Library{{Name: "lib.so", SHA256: strings.Repeat("ab", 32)}}}
	var out bytes.Buffer
	if err := Write(&out, info, "1.0", in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"purl": "pkg:golang/std@1.26.1"`, `"purl": "pkg:golang/github.com/burntsushi/toml@v1.2.3+incompatible"`, `"value": "h1:x="`,
		`"purl": "pkg:golang/example.com/fork@v1.0.1"`, `"purl": "pkg:pypi/` + wheel.Package + `@2.21.0"`, `"content": "` + wheel.SHA256 + `"`, `"name": "lib.so"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the bill lacks %s:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "example.com/old") {
		t.Error("the bill has a module that was replaced")
	}
	var again bytes.Buffer
	if err := Write(&again, info, "1.0", in); err != nil || again.String() != out.String() {
		t.Errorf("the second bill differs: %v", err)
	}
}
