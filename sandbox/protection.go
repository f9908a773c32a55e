package sandbox

import (
	"fmt"
	"strings"

	"millrace"
)

// Protection describes what the kernel restricts.
type Protection struct {
	LandlockABI int    `json:"landlock_abi"` // version of Landlock's interface, 0 if there is none
	Files       bool   `json:"files"`        // opening, making, renaming and removing files
	Truncate    bool   `json:"truncate"`     // truncating files, too
	TCP         bool   `json:"tcp"`          // binding and connecting TCP sockets by port
	Signals     bool   `json:"signals"`      // signals to other processes
	Calls       bool   `json:"calls"`        // system calls, by seccomp
	Missing     string `json:"missing"`      // why something is missing; "" if nothing is
}

// Whole reports whether everything that package sandbox restricts is restricted.
func (p Protection) Whole() bool { return p.Files && p.Truncate && p.TCP && p.Signals && p.Calls }

// String describes the protection in one line.
func (p Protection) String() string {
	var parts []string
	if p.LandlockABI > 0 {
		parts = append(parts, fmt.Sprintf("Landlock ABI %d: %s", p.LandlockABI, strings.Join(p.covered(), ", ")))
	}
	if p.Calls {
		parts = append(parts, "seccomp: system calls")
	}
	text := strings.Join(parts, "; ")
	if text == "" {
		text = "none"
	}
	if p.Missing != "" {
		text += "; " + p.Missing
	}
	return text
}

// covered lists what Landlock restricts.
func (p Protection) covered() (list []string) {
	for _, c := range []struct {
		has  bool
		name string
	}{{p.Files, "files"}, {p.Truncate, "truncation"}, {p.TCP, "TCP"}, {p.Signals, "signals"}} {
		if c.has {
			list = append(list, c.name)
		}
	}
	return list
}

// explain sets Missing from what is restricted.
func (p *Protection) explain() {
	var why []string
	switch {
	case p.LandlockABI == 0:
		why = append(why, "no Landlock: the kernel is older than 5.13, was built or started without it, or the container's seccomp profile blocks it; files and ports are not restricted")
	case !p.Truncate || !p.TCP:
		why = append(why, "this kernel's Landlock restricts less; Linux 6.7 restricts all files and TCP ports")
	}
	if !p.Calls {
		why = append(why, "no seccomp filters: system calls are not restricted")
	}
	p.Missing = strings.Join(why, "; ")
}

// required returns an error unless the protection is enough for [Require].
func (p Protection) required() error {
	if p.Files && p.Truncate && p.TCP && p.Calls {
		return nil
	}
	return millrace.Errorf(millrace.ErrRuntime, "the sandbox is required but not complete here: %s", p)
}
