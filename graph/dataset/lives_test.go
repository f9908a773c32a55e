package dataset_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// livesFrom names the environment variable with the index in lives at which the child
// process starts.
const livesFrom = "MILLRACE_TEST_LIVES"

// life is a dataset that TensorFlow might end the process for. It may return elements
// or fail.
type life struct {
	name  string
	build func(s *graph.Scope, feed func(int64) out) *dataset.Dataset // feed makes a placeholder of a number
}

// TestProcessLives reads datasets that used to end TensorFlow's process. It reads them
// in a separate process, which must survive.
func TestProcessLives(t *testing.T) {
	cases := lives()
	for from := 0; from < len(cases); {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLives$", "-test.v")
		child.Env = append(os.Environ(), livesFrom+"="+strconv.Itoa(from))
		text, err := child.CombinedOutput()
		if err == nil && strings.Contains(string(text), "lives: all\n") {
			return
		}
		last := strings.LastIndex(string(text), "lives: case ")
		if last < 0 {
			t.Fatalf("%v\n%s", err, text)
		}
		name, rest, _ := strings.Cut(string(text)[last+len("lives: case "):], "\n")
		t.Errorf("%s: %v\n%.2000s", name, err, rest)
		from = slices.IndexFunc(cases, func(c life) bool { return c.name == name }) + 1
	}
}

// TestLives runs in the child process of TestProcessLives.
func TestLives(t *testing.T) {
	from, err := strconv.Atoi(os.Getenv(livesFrom))
	if err != nil {
		t.Skip("it runs for TestProcessLives")
	}
	for _, c := range lives()[from:] {
		fmt.Printf("lives: case %s\n", c.name)
		got, err := live(t, c)
		fmt.Printf("lives: %d elements, error %v\n", got, err)
	}
	fmt.Println("lives: all")
}

// live reads a few elements of a dataset.
func live(t *testing.T, c life) (elements int, err error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	feeds := map[out]*tfbridge.Tensor{}
	d := c.build(s, func(n int64) out {
		value, err := tfbridge.NewTensor(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { value.Close() })
		p := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
		feeds[p] = value
		return p
	})
	for _, err := range d.All(t.Context(), &dataset.IterateOptions{Feeds: feeds}) {
		if err != nil || elements == 9 {
			return elements, err
		}
		elements++
	}
	return elements, nil
}
