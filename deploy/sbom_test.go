package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"millrace/internal/test/testruntime"
)

// The program's bill of materials is valid by CycloneDX's schema, which its library's module carries. The
// bill names what "go version -m" names, and TensorFlow's wheel.
func TestBillOfMaterials(t *testing.T) {
	testruntime.Need(t)
	text, err := exec.CommandContext(t.Context(), program, "version", "--sbom").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(must(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output())(t)))
	c := jsonschema.NewCompiler()
	for id, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		doc := must(jsonschema.UnmarshalJSON(bytes.NewReader(must(os.ReadFile(filepath.Join(dir, "schema", file)))(t))))(t)
		if err := c.AddResource("http://cyclonedx.org/schema/"+id, doc); err != nil {
			t.Fatal(err)
		}
	}
	schema := must(c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json"))(t)
	if err := schema.Validate(must(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)); err != nil {
		t.Error(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	purls := map[string]bool{}
	for _, c := range *bom.Components {
		purls[c.PackageURL] = true
	}
	listed := 0
	for _, line := range strings.Split(string(must(exec.CommandContext(t.Context(), "go", "version", "-m", program).Output())(t)), "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
			listed++
			if purl := "pkg:golang/" + strings.ToLower(f[1]) + "@" + f[2]; !purls[purl] {
				t.Errorf("the bill lacks %s", purl)
			}
		}
	}
	if listed < 10 || len(purls) != listed+2 {
		t.Errorf("%d modules, %d components, want Go and TensorFlow besides", listed, len(purls))
	}
}
