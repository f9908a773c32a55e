//go:build !linux

package install

// There is no pinned wheel for other systems; these let the package build.

func flush(string) error { return nil }

func free(string) (int64, bool) { return 0, false }
