//go:build !unix

package tfrecord

import "io/fs"

// inode returns 0, because this system has no inodes.
func inode(fs.FileInfo) uint64 { return 0 }
