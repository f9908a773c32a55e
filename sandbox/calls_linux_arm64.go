package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	foreignCalls = 0 // none
)

var (
	refusedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	forks       []uint32 // only clone exists
)
