package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/internal/base/runtimedir"
)

// dockerfiles are the Dockerfiles of images to run. docker/build.Dockerfile makes the
// image for building them.
var dockerfiles = []string{"Dockerfile", "docker/cuda.Dockerfile", "examples/service/Dockerfile"}

// text reads a committed file.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// find returns the first group of a pattern that a file must match.
func find(t *testing.T, name, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text(t, name))
	if m == nil {
		t.Fatalf("%s: nothing matches %s", name, pattern)
	}
	return m[1]
}

// The versions in the Dockerfiles are those that the module is tested with.
func TestDockerVersions(t *testing.T) {
	const build, cuda = "docker/build.Dockerfile", "docker/cuda-requirements.txt"
	if got, want := find(t, build, `^ARG GO_BASE=golang:([0-9.]+)-`), find(t, "go.mod", `^go ([0-9.]+)$`); got != want {
		t.Errorf("%s builds with Go %s, go.mod says %s", build, got, want)
	}
	if got, want := find(t, cuda, `'tensorflow\[and-cuda\]==([0-9.]+)'`), runtimedir.Pinned().Version; got != want {
		t.Errorf("%s is for TensorFlow %s, pins.json says %s", cuda, got, want)
	}
	release := find(t, build, `^ARG GO_BASE=golang:[0-9.]+-([a-z]+)$`)
	for _, name := range []string{"docker/cuda.Dockerfile"} {
		if got := find(t, name, `^ARG BASE=debian:([a-z]+)-slim$`); got != release {
			t.Errorf("%s runs on Debian %s, programs are built on %s and may need its newer glibc", name, got, release)
		}
	}
	for n, line := range strings.Split(text(t, cuda), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") && !regexp.MustCompile(`^[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}$`).MatchString(line) {
			t.Errorf("%s:%d: want NAME==VERSION --hash=sha256:HEX", cuda, n+1)
		}
	}
}

// An image to run starts from an argument, installs nothing, and starts a program
// without a shell. The images of this module have an unprivileged user; the service's
// image has the user of its base.
func TestDockerfiles(t *testing.T) {
	from := regexp.MustCompile(`(?m)^FROM (.*)$`)
	for _, name := range dockerfiles {
		s := text(t, name)
		for _, m := range from.FindAllStringSubmatch(s, -1) {
			if base := strings.TrimSuffix(m[1], " AS build"); base != "${BUILDER}" && base != "${BASE}" {
				t.Errorf("%s: FROM %s; want an argument, so that a digest can be given", name, base)
			}
		}
		stages := from.Split(s, -1)
		last := stages[len(stages)-1]
		for _, want := range []string{`\nENTRYPOINT \["`, `\nHEALTHCHECK .*CMD \["`} {
			if !regexp.MustCompile(want).MatchString(last) {
				t.Errorf("%s: the last stage has nothing like %q", name, want)
			}
		}
		if !strings.HasPrefix(name, "examples/") && !regexp.MustCompile(`\nUSER [1-9][0-9]*:[1-9][0-9]*\n`).MatchString(last) {
			t.Errorf("%s: the last stage has no USER of two numbers", name)
		}
		if strings.Contains(last, "\nRUN ") {
			t.Errorf("%s: the last stage runs a command; its result would differ from day to day", name)
		}
	}
}

// docker/README.md shows a whole Dockerfile for a user's program.
func TestServiceDockerfile(t *testing.T) {
	if want := "```dockerfile\n" + text(t, "examples/service/Dockerfile") + "```\n"; !strings.Contains(text(t, "docker/README.md"), want) {
		t.Error("docker/README.md does not show examples/service/Dockerfile as it is")
	}
}

// The scripts are executable.
func TestDockerScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(root, "docker", "*"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range scripts {
		if filepath.Ext(name) != "" {
			continue
		}
		found++
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be executed", name)
		}
		if !strings.HasPrefix(text(t, filepath.Join("docker", filepath.Base(name))), "#!/usr/bin/env bash\n") {
			t.Errorf("%s is not a bash script", name)
		}
	}
	if found == 0 {
		t.Error("docker has no scripts")
	}
}
