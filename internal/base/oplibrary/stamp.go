package oplibrary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"millrace/internal/base/regularfile"
)

// StampSuffix is appended to the library's name for the file with the library's
// SHA-256. A shared object with one changed byte may load and then compute something
// else, or end the process at some later time.
const StampSuffix = ".sha256"

// Remedy is the command that builds a missing or damaged library.
const Remedy = "millrace runtime native"

// Stamp writes the checksum of the library at from for its later path. Call it before
// the library is moved there.
func Stamp(from, path string) error {
	sum, err := sumOf(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+StampSuffix, []byte(sum+"\n"), 0o644); err != nil {
		return fmt.Errorf("write checksum: %w", err)
	}
	return nil
}

// Verify returns an error if the library differs from the one that was stamped when it
// was built.
func Verify(path string) error {
	want, err := regularfile.ReadFile(path+StampSuffix, regularfile.TextBytes)
	if err != nil {
		return fmt.Errorf("the library %q has no checksum beside it (%w); type %s", path, err, Remedy)
	}
	got, err := sumOf(path)
	if err != nil {
		return err
	}
	if got != strings.TrimSpace(string(want)) {
		return fmt.Errorf("the library %q is damaged: its SHA-256 is not the one that it was built with; type %s", path, Remedy)
	}
	return nil
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(path string) (string, error) {
	f, _, err := regularfile.OpenFile(path)
	if err != nil {
		return "", fmt.Errorf("read library: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read library: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
