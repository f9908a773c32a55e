package sandbox

import (
	"fmt"

	"millrace"
)

// Policy says what a process may touch from now on. The zero value allows only what
// every process with TensorFlow needs: the system's libraries and time zones, its own
// entries in /proc, the description of the processors, /dev/null and the random
// devices.
//
// A path that names a folder includes everything below it. Restrict looks paths up
// once: a file that takes the place of a named one later is outside. Name the folder where
// files are replaced.
type Policy struct {
	// Read lists files and folders to read. Paths that do not exist are skipped.
	Read []string

	// Write lists files and folders to read, create, change and remove. They must exist.
	Write []string

	// Rename lists folders whose entries may be made, renamed and removed, but neither
	// read nor written. A file that is already open and gets its name at the end needs
	// this. The folders must exist.
	Rename []string

	// Temp is the folder for temporary files; nil if there is none.
	Temp *Temp

	// Listen lists the TCP ports to accept connections at; 0 is any free one. With any
	// entry the process can also listen at a port that the kernel chooses, because
	// listen(2) binds a socket that is not bound, which Landlock does not check. A
	// process that opens its listeners before Restrict leaves Listen empty, and then
	// cannot make others.
	Listen []uint16

	// Bound lists descriptors of sockets that are bound and may begin to listen later, although
	// Listen is empty.
	Bound []int

	// Connect allows outgoing connections and datagrams, to anywhere.
	Connect bool

	// Exec allows to start programs. They inherit the restrictions.
	Exec bool
}

// Mode says how much protection a caller insists on.
type Mode string

// The modes.
const (
	Auto    Mode = "auto"    // as much as the kernel offers
	Require Mode = "require" // an error unless files, TCP and system calls are restricted
	Off     Mode = "off"     // none
)

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Auto, Require, Off:
		return m, nil
	}
	return "", fmt.Errorf("%s is not one of %s, %s, %s", millrace.Quote(name), Auto, Require, Off)
}
