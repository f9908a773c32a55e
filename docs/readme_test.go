package docs

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
)

// readme is the first program of README.md.
func readme(ctx context.Context) {
	loader, err := loaders.Open("examples/digits/predict.json", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Batches(ctx) {
		if err != nil {
			log.Fatal(err) // names the file, the record, its offset and the feature
		}
		images, err := tfbridge.View[float32](batch.Tensor("image")) // no copy; valid until the next iteration
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Tensor("image").Shape(), images[:8])
	}
}

// The first program of README.md is the function above, which runs.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```go\n")
	block, _, _ = strings.Cut(block, "```")
	_, body, _ := strings.Cut(string(source), "func readme(ctx context.Context) {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	if got := strings.ReplaceAll("\n"+body+"\n", "\n\t", "\n"); got != "\n"+block {
		t.Errorf("the first program of README.md is not the function readme:\n%s\nwant\n%s", block, got)
	}
	testruntime.Need(t)
	t.Chdir("..")
	readme(t.Context())
}
