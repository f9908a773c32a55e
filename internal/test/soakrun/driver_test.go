package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"
)

// The drivers are targets of the Makefile.
func TestDriversAreTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range attackDrivers() {
		if !bytes.Contains(makefile, []byte("\n"+d.target+": ")) {
			t.Errorf("the Makefile has no target %s", d.target)
		}
	}
}

// A failing driver is not run again, and a driver ends when its time is over.
func TestDriverEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("Makefile", []byte("good: ; @echo $(N) $(SEED) >>log\nbad: good; @false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		target string
		total  time.Duration
		failed int
	}{{"good", 0, 0}, {"bad", time.Hour, 1}} {
		if got := (driver{tt.target, 7}).run(context.Background(), tt.total); got != tt.failed {
			t.Errorf("%s: %d failures", tt.target, got)
		}
	}
	log, err := os.ReadFile("log")
	if err != nil || bytes.Count(log, []byte("\n")) != 2 || !bytes.HasPrefix(log, []byte("7 ")) {
		t.Errorf("rounds: %q, %v", log, err)
	}
}
