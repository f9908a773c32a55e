package docs

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxReadmeLines is how long README.md may be: what a reader takes in before
// deciding to go on.
const maxReadmeLines = 180

// times matches the last cell of a row of README.md's table of speeds.
var times = regexp.MustCompile(`(?m)\| ([0-9.]+) times as \w+ \|$`)

// README.md is short, a reader finds the install line in its first third, and
// no row of its table is a factor below one.
func TestReadmeForm(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(page), "\n")
	if lines > maxReadmeLines {
		t.Errorf("README.md has %d lines, more than %d", lines, maxReadmeLines)
	}
	before, _, found := strings.Cut(string(page), "go install -C ../millrace ./cmd/millrace")
	if at := strings.Count(before, "\n"); !found || at > maxReadmeLines/3 {
		t.Errorf("README.md: the install line is found: %v, after %d lines", found, at)
	}
	rows := times.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 5 {
		t.Errorf("README.md: %d rows compare speeds", len(rows))
	}
	for _, row := range rows {
		if factor, err := strconv.ParseFloat(row[1], 64); err != nil || factor < 1 {
			t.Errorf("README.md: %q is not a factor above 1", row[0])
		}
	}
}

// label matches a label of a node or an edge in a picture's source.
var label = regexp.MustCompile(`label="([^"]*)"`)

// The picture is drawn from its source: it shows each label, line by line.
func TestFlowPicture(t *testing.T) {
	source, err := os.ReadFile("pictures/flow.dot")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile("pictures/flow.svg")
	if err != nil {
		t.Fatal(err)
	}
	labels := label.FindAllStringSubmatch(string(source), -1)
	if len(labels) == 0 {
		t.Fatal("flow.dot has no labels")
	}
	for _, m := range labels {
		for line := range strings.SplitSeq(m[1], `\n`) {
			if !strings.Contains(string(picture), ">"+line+"</text>") {
				t.Errorf("flow.svg does not show %q: run make pictures", line)
			}
		}
	}
}
