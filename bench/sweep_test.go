package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"millrace/loaders"
)

// Every key of the arguments of a loader is in a setting of the sweep, or is skipped with a reason.
func TestSweepHasEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "config-keys.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys, known := sweepKeys(), map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^### `args\\.(\\w+)`").FindAllStringSubmatch(string(text), -1) {
		key := m[1]
		known[key] = true
		if _, skipped := sweepSkipped[key]; skipped == slices.Contains(keys, key) {
			t.Errorf("%s: skipped %v, and in a setting %v", key, skipped, skipped)
		}
	}
	for key := range sweepSkipped {
		if !known[key] {
			t.Errorf("%s is skipped, and the config has no such key", key)
		}
	}
}

// The configs of all settings are correct.
func TestSweepConfigs(t *testing.T) {
	dir := t.TempDir()
	made := map[string]bool{}
	for i, x := range sweepSettings {
		d, folder := sweepData[x.data], filepath.Join(dir, x.data)
		d.records = 8
		if !made[x.data] {
			if err := d.make(folder); err != nil {
				t.Fatal(err)
			}
			made[x.data] = true
		}
		config := filepath.Join(dir, "loader.json")
		if err := writeJSON(config, x.loaderConfig(folder, d, sweepEpochs)); err != nil {
			t.Fatal(i, err)
		}
		if p, problems := loaders.Check(config, nil); p == nil {
			t.Errorf("%s: %v", x.name, problems)
		}
	}
}
