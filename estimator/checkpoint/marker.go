package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"millrace/internal/base/regularfile"
)

// The file "checkpoint" has TensorFlow's format: the text of a CheckpointState message,
// which Python's tf.train.latest_checkpoint reads. Writing it commits a checkpoint:
// training resumes from the checkpoint that it names.
//
// |model_checkpoint_path: "ckpt-1000"
//
// |all_model_checkpoint_paths: "ckpt-500"
//
// |all_model_checkpoint_paths: "ckpt-1000"

// markerName is the name of the file.
const markerName = "checkpoint"

// writeMarker makes the newest of steps the one from which training resumes.
func writeMarker(dir string, steps []int64) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model_checkpoint_path: %q\n", base(steps[len(steps)-1]))
	for _, step := range steps {
		fmt.Fprintf(&b, "all_model_checkpoint_paths: %q\n", base(step))
	}
	return WriteFile(filepath.Join(dir, markerName), b.Bytes())
}

var markerLine = regexp.MustCompile(`(?m)^\s*model_checkpoint_path:\s*("(?:[^"\\]|\\.)*")`)

// readMarker returns the path that the file names, as it is written there; ""
// if there is no file or it names none.
func readMarker(dir string) string {
	text, err := regularfile.ReadFile(filepath.Join(dir, markerName), regularfile.TextBytes)
	if err != nil {
		return ""
	}
	m := markerLine.FindSubmatch(text)
	if m == nil {
		return ""
	}
	path, err := strconv.Unquote(string(m[1]))
	if err != nil {
		return ""
	}
	return path
}

// markedStep returns the step that the file names.
func markedStep(dir string) (step int64, ok bool) {
	number, ok := strings.CutPrefix(readMarker(dir), "ckpt-")
	step, err := strconv.ParseInt(number, 10, 64)
	return step, ok && err == nil
}

// Resolve returns the prefix of a checkpoint: for a folder the prefix of its newest
// checkpoint, like Python's tf.train.latest_checkpoint, and for other paths the path
// itself.
func Resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return strings.TrimSuffix(path, ".index"), nil
	}
	newest := readMarker(path)
	if newest == "" {
		return "", refusal(path, "the folder has no file %q that names a checkpoint", markerName)
	}
	if filepath.IsAbs(newest) {
		return newest, nil
	}
	return filepath.Join(path, newest), nil
}
