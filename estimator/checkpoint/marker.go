package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"millrace/remote"
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

// A marker in a store has the time, too, in TensorFlow's own field. With it two processes that
// train in one URL write different markers, by which each notices the other.
//
// |last_preserved_timestamp: 1764310000.123456789

// marker returns the content of the file.
func marker(steps []int64, stamp string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model_checkpoint_path: %q\n", base(steps[len(steps)-1]))
	for _, step := range steps {
		fmt.Fprintf(&b, "all_model_checkpoint_paths: %q\n", base(step))
	}
	if stamp != "" {
		fmt.Fprintf(&b, "last_preserved_timestamp: %s\n", stamp)
	}
	return b.Bytes()
}

// writeMarker makes the newest of steps the one from which training resumes.
func (s *Store) writeMarker(steps []int64) error {
	stamp := ""
	if s.scratch != nil {
		now := time.Now()
		stamp = fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond())
	}
	text := marker(steps, stamp)
	if err := WriteFile(remote.Join(s.dir, markerName), text); err != nil {
		return err
	}
	s.marked = text
	return nil
}

// checkOwner returns an error if another process has written the marker of a store. A folder has
// a lock instead.
func (s *Store) checkOwner() error {
	if s.scratch == nil {
		return nil
	}
	name := remote.Join(s.dir, markerName)
	now, err := readText(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, s.marked) {
		return refusal(name, "another process has written it: two trainings in one URL overwrite each other's checkpoints; end one of them, and start the other again")
	}
	return nil
}

var markerLine = regexp.MustCompile(`(?m)^\s*model_checkpoint_path:\s*("(?:[^"\\]|\\.)*")`)

// readMarker returns the path that the file names, as it is written there; ""
// if there is no file or it names none.
func readMarker(dir string) string {
	text, err := readText(remote.Join(dir, markerName))
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
	if remote.IsURL(path) {
		if newest := readMarker(path); newest != "" {
			return remote.Join(path, newest), nil
		}
		return strings.TrimSuffix(path, ".index"), nil
	}
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
