package serving

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// A version whose folder is a link elsewhere, holds a FIFO, or is cut fails and says so. Names that
// are almost numbers, FIFOs and links that lead nowhere are ignored. The version before answers
// all the time, and the next sound one replaces it.
func TestHostileVersions(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	put(t, base, "linear", 1)
	s := start(t, ModelConfig{BasePath: base}, Options{MaxNumLoadRetries: -1})
	at := func(name string) string { return filepath.Join(base, name) }
	err := errors.Join(
		os.Symlink("99", at("99")), syscall.Mkfifo(at("98"), 0o600), os.Symlink(at("nothing"), at("97")),
		os.Mkdir(at("-9"), 0o755), os.Mkdir(at(" 9"), 0o755), os.Mkdir(at("99999999999999999999"), 0o755), os.WriteFile(at("96"), nil, 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := versionsIn(base); err != nil || !maps.Equal(found, map[int64]string{1: at("1")}) {
		t.Errorf("versions %v, %v", found, err)
	}
	whole := at("whole")
	states := "1 AVAILABLE"
	for i, spoil := range []func() error{
		func() error { return errors.Join(os.RemoveAll(whole), os.Symlink(elsewhere, whole)) },
		func() error {
			pb := filepath.Join(whole, "saved_model.pb")
			return errors.Join(os.Remove(pb), syscall.Mkfifo(pb, 0o600))
		},
		func() error { return os.Truncate(filepath.Join(whole, "saved_model.pb"), 50) },
		func() error { return os.Truncate(filepath.Join(whole, "variables/variables.data-00000-of-00001"), 1) },
		func() error { return os.Truncate(filepath.Join(whole, "variables/variables.index"), 60) },
		func() error {
			folder := filepath.Join(whole, "variables")
			return errors.Join(os.Rename(folder, filepath.Join(elsewhere, "variables")), os.Symlink(filepath.Join(elsewhere, "variables"), folder))
		},
	} {
		number := strconv.Itoa(i + 2)
		if err := errors.Join(os.CopyFS(whole, os.DirFS(testdata+"linear")), spoil(), os.Rename(whole, at(number))); err != nil {
			t.Fatal(err)
		}
		states = fmt.Sprintf("%s END with an error, %s", number, states)
		await(t, s, states)
		v, err := s.Acquire(ModelSpec{Name: "m"})
		if err != nil || v.Number != 1 {
			t.Fatalf("next to version %s: %v, %v", number, v, err)
		}
		v.Release()
	}
	put(t, base, "linear", 50)
	await(t, s, "50 AVAILABLE, "+states[:len(states)-len("AVAILABLE")]+"END")
}
