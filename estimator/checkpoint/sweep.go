package checkpoint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"millrace/internal/base/atomicfile"
	"millrace/remote"
)

// writingName is the folder in which files are written.
const writingName = ".writing"

// ours matches the names of checkpoint files, also the temporary ones that TensorFlow
// uses while it writes.
var ours = regexp.MustCompile(`^ckpt-(0|[1-9][0-9]{0,18})\.(json|index|data-\d{5}-of-\d{5})(\.tempstate\d+)?$`)

// sweep removes the files that a killed process left: incomplete files, and files of
// checkpoints that were not committed.
func (s *Store) sweep() error {
	if s.scratch == nil {
		if err := os.RemoveAll(s.writing); err != nil {
			return failure(s.dir, "sweep", err)
		}
		if err := atomicfile.Sweep(filepath.Join(s.dir, markerName)); err != nil {
			return failure(s.dir, "sweep", atomicfile.Cause(err))
		}
	}
	complete, err := Steps(s.dir)
	if err != nil {
		return err
	}
	newest, marked := markedStep(s.dir)
	names, err := namesIn(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		m := ours.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		step, _ := strconv.ParseInt(m[1], 10, 64)
		if !slices.Contains(complete, step) || m[3] != "" || marked && step > newest {
			if err := removeFile(remote.Join(s.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
