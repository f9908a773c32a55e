package sandbox

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startThread starts an operating system thread and returns a function that runs work on
// it and waits for the end.
func startThread() (on func(work func())) {
	jobs, done := make(chan func()), make(chan bool)
	ready := make(chan bool)
	go func() {
		runtime.LockOSThread()
		ready <- true
		for job := range jobs {
			job()
			done <- true
		}
	}()
	<-ready
	return func(work func()) {
		jobs <- work
		<-done
	}
}

// attempt is an action that a policy allows or denies.
type attempt struct {
	name string
	do   func(args []string) error
}

// files makes a folder with a file and another folder.
func files(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "secret", "other": "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// args returns the arguments of all attempts: a folder, the address of a TCP server, the
// id of another process, and the name of a Unix socket.
func args(t *testing.T, dir string) []string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	other := exec.CommandContext(t.Context(), "sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	return []string{dir, l.Addr().String(), strconv.Itoa(other.Process.Pid)}
}

// boundSocket is a socket that a child binds before it restricts itself.
var boundSocket int

// bindSocket makes boundSocket.
func bindSocket() (err error) {
	if boundSocket, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	return unix.Bind(boundSocket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

const folderArg, addressArg, processArg = 0, 1, 2

func process(args []string) int {
	pid, _ := strconv.Atoi(args[processArg])
	return pid
}

// reading returns an attempt to read a file of a folder.
func reading(path string) func([]string) error {
	return func(args []string) error {
		if !filepath.IsAbs(path) {
			path = filepath.Join(args[folderArg], path)
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			_, err = f.Readdirnames(1)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if _, err = f.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
}

// calling returns an attempt to make a system call that the kernel refuses even without
// a sandbox, with another error than EPERM. The attempt succeeds if the error is not
// EPERM.
func calling(number uintptr, arguments ...uintptr) func([]string) error {
	arguments = append(arguments, 0, 0, 0, 0, 0, 0)
	return func([]string) error {
		_, _, errno := unix.RawSyscall6(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
		if errno == unix.EPERM {
			return errno
		}
		return nil
	}
}

func openSocket(family, kind, protocol int) func([]string) error {
	return func([]string) error {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

// run runs a program with the standard error of this one.
func run(name string, args ...string) error { return exec.Command(name, args...).Run() }

const bad = ^uintptr(0) // a wrong pointer, descriptor, flag or command

var attempts = map[string][]attempt{
	"read": {
		{"read a file", reading("secret")},
		{"read another", reading("other")},
		{"list a folder", reading("folder")},
	},
	"own": {
		{"read status", reading("/proc/self/status")},
		{"read memory", reading("/proc/meminfo")},
		{"list threads", reading("/proc/self/task")},
		{"write to null", func([]string) error { return os.WriteFile("/dev/null", []byte("x"), 0) }},
		{"read random", reading("/dev/urandom")},
		{"time zone", reading("/usr/share/zoneinfo")},
	},
	"secrets": {
		{"read environ", reading("/proc/self/environ")},
		{"read environ of a thread", reading("/proc/thread-self/environ")},
		{"read passwd", reading("/etc/passwd")},
		{"read a command line", func(args []string) error { return reading("/proc/" + args[processArg] + "/cmdline")(args) }},
		{"write to memory", func([]string) error {
			f, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}},
	},
	"write": {
		{"make a file", func(a []string) error { return os.WriteFile(filepath.Join(a[folderArg], "new"), []byte("x"), 0o600) }},
		{"change a file", func(a []string) error { return os.WriteFile(filepath.Join(a[folderArg], "other"), []byte("x"), 0o600) }},
		{"truncate a file", func(a []string) error { return os.Truncate(filepath.Join(a[folderArg], "other"), 0) }},
		{"make a folder", func(a []string) error {
			dir := filepath.Join(a[folderArg], "new folder")
			return errors.Join(os.Mkdir(dir, 0o700), os.Remove(dir))
		}},
		{"make a link", func(a []string) error {
			link := filepath.Join(a[folderArg], "link")
			return errors.Join(os.Symlink("x", link), os.Remove(link))
		}},
		{"rename between folders", func(a []string) error {
			from, to := filepath.Join(a[folderArg], "other"), filepath.Join(a[folderArg], "folder", "other")
			if err := os.Rename(from, to); !errors.Is(err, unix.EXDEV) { // Landlock's error if the right to refer is missing
				return errors.Join(err, os.Rename(to, from))
			}
			return unix.EACCES
		}},
	},
	"rename": {
		{"rename a file", func(a []string) error {
			from, to := filepath.Join(a[folderArg], "other"), filepath.Join(a[folderArg], "renamed")
			return errors.Join(os.Rename(from, to), os.Rename(to, from))
		}},
	},
	"temp": {
		{"make a temporary file", func([]string) error {
			f, err := os.CreateTemp("", "x")
			if err == nil {
				err = errors.Join(f.Close(), os.Remove(f.Name()))
			}
			return err
		}},
	},
	"connect": {
		{"connect", func(a []string) error {
			c, err := net.Dial("tcp", a[addressArg])
			if err == nil {
				err = c.Close()
			}
			return err
		}},
		{"open a connection by sending", func(a []string) error {
			_, port, _ := net.SplitHostPort(a[addressArg])
			n, _ := strconv.Atoi(port)
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			err = unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}})
			if errors.Is(err, unix.EPERM) {
				return err
			}
			return nil // fast open may be off
		}},
		{"send a datagram", func(a []string) error {
			c, err := net.Dial("udp", a[addressArg])
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write([]byte("x"))
			return err
		}},
	},
	"listen": {
		{"listen", func([]string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				err = l.Close()
			}
			return err
		}},
	},
	"listen without a port": {
		{"listen", func([]string) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Listen(fd, 1) // binds it to a free port
		}},
	},
	"listen at a bound socket": {
		{"listen", func([]string) error { return unix.Listen(boundSocket, 1) }},
	},
	"addresses of the machine": {
		{"resolve", func([]string) error {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		}},
	},
	"other sockets": {
		{"unix", openSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
		{"multipath TCP", func(a []string) error {
			err := openSocket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)(a)
			if errors.Is(err, unix.EPERM) {
				return err
			}
			return nil // not every kernel has it
		}},
		{"datagrams", openSocket(unix.AF_INET, unix.SOCK_DGRAM, 0)},
		{"netlink", openSocket(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
	},
	"exec": {
		{"run a program", func([]string) error { return run("/bin/true") }},
		{"fork", func([]string) error {
			pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			_, err := unix.Wait4(int(pid), nil, 0, nil)
			return err
		}},
	},
	"inherited": {
		{"a program reads a file", func(a []string) error {
			if err := run("/bin/cat", filepath.Join(a[folderArg], "secret")); err != nil {
				return syscall.EACCES
			}
			return nil
		}},
	},
	"others": {
		{"signal", func(a []string) error { return unix.Kill(process(a), 0) }},
		{"signal a thread", func(a []string) error { return unix.Tgkill(process(a), process(a), 0) }},
		{"signal any thread", func(a []string) error { return calling(unix.SYS_TKILL, uintptr(process(a)), 0)(a) }},
		{"read memory", func(a []string) error {
			var b byte
			v := unix.Iovec{Base: &b, Len: 1}
			return calling(unix.SYS_PROCESS_VM_READV, uintptr(process(a)), uintptr(unsafe.Pointer(&v)), 1, uintptr(unsafe.Pointer(&v)), 1)(a)
		}},
		{"trace", calling(unix.SYS_PTRACE, bad)},
	},
	"itself": {
		{"signal", func([]string) error { return unix.Kill(os.Getpid(), 0) }},
		{"signal a thread", func([]string) error { return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG) }},
		{"limits", func([]string) error {
			var l unix.Rlimit
			return unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &l)
		}},
		{"collect garbage", func([]string) error { runtime.GC(); return nil }},
	},
	"kernel": {
		{"mount", calling(unix.SYS_MOUNT, bad, bad, bad)},
		{"chroot", calling(unix.SYS_CHROOT, bad)},
		{"open by handle", calling(unix.SYS_OPEN_BY_HANDLE_AT, bad, bad)},
		{"bpf", calling(unix.SYS_BPF, bad)},
		{"io_uring", func([]string) error { return calling(unix.SYS_IO_URING_ENTER, bad)(nil) }},
		{"userfaultfd", calling(unix.SYS_USERFAULTFD, bad)},
		{"keys", calling(unix.SYS_KEYCTL, bad)},
		{"namespaces", calling(unix.SYS_SETNS, bad, bad)},
		{"a new namespace", calling(unix.SYS_CLONE, unix.CLONE_NEWNS|unix.CLONE_FS)},
		{"a module", calling(unix.SYS_FINIT_MODULE, bad, bad)},
		{"type for the user", func([]string) error {
			// Descriptor -1 is EBADF, unless the filter sees the command first.
			return calling(unix.SYS_IOCTL, bad, unix.TIOCSTI)(nil)
		}},
	},
}
