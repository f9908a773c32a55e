package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignCalls is the first number of the x32 system calls, which are the same
	// calls under other numbers.
	foreignCalls = 0x40000000
)

var (
	refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CREATE_MODULE, unix.SYS_USELIB, unix.SYS__SYSCTL}
	forks       = []uint32{unix.SYS_FORK, unix.SYS_VFORK}
)
