package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutate(t *testing.T) {
	const source = `// a < b
int F(std::vector<int> v) {
  /* x == y
     x != y */
  if (a < b && !c) Log("x < y");
  total += 2;
  const int n = Next(a);
  v.push_back(n);
  return true;
}`
	var got []string
	for _, m := range mutate("f.cc", source) {
		got = append(got, strings.TrimSpace(m.now))
		if changed := m.apply(source); changed == source || strings.Count(changed, "\n") != strings.Count(source, "\n") {
			t.Errorf("line %d is not changed in its place:\n%s", m.line, changed)
		}
	}
	want := []string{
		`if (a <= b && !c) Log("x < y");`,
		`if (a < b || !c) Log("x < y");`,
		"total -= 2;",
		"", // total
		"", // push_back
		"return false;",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
