package checkpoint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"millrace/internal/base/atomicfile"
)

// writing is the folder in which files are written.
const writing = ".writing"

// ours matches the names of checkpoint files, also the temporary ones that TensorFlow
// uses while it writes.
var ours = regexp.MustCompile(`^ckpt-(0|[1-9][0-9]{0,18})\.(json|index|data-\d{5}-of-\d{5})(\.tempstate\d+)?$`)

// sweep removes the files that a killed process left: incomplete files, and files of
// checkpoints that were not committed.
func (s *Store) sweep() error {
	if err := os.RemoveAll(filepath.Join(s.dir, writing)); err != nil {
		return failure(s.dir, "sweep", err)
	}
	if err := atomicfile.Sweep(filepath.Join(s.dir, markerName)); err != nil {
		return failure(s.dir, "sweep", atomicfile.Cause(err))
	}
	complete, err := Steps(s.dir)
	if err != nil {
		return err
	}
	newest, marked := markedStep(s.dir)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return failure(s.dir, "list", err)
	}
	for _, e := range entries {
		m := ours.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		step, _ := strconv.ParseInt(m[1], 10, 64)
		if !slices.Contains(complete, step) || m[3] != "" || marked && step > newest {
			if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
				return failure(filepath.Join(s.dir, e.Name()), "remove", err)
			}
		}
	}
	return nil
}
