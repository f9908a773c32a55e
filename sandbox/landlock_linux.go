package sandbox

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights of Landlock that a policy's lists stand for. A rule for a file must not
// name rights of folders.
const (
	readFile  = landlock.AccessFSSet(ll.AccessFSReadFile)
	readDir   = landlock.AccessFSSet(ll.AccessFSReadDir)
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	rename    = readDir | ll.AccessFSMakeReg | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
	writeDir  = writeFile | rename | ll.AccessFSMakeDir | ll.AccessFSMakeSym
	refer     = landlock.AccessFSSet(ll.AccessFSRefer)
	device    = writeFile | ll.AccessFSIoctlDev
)

// referABI is the first version that can allow to rename between folders.
const referABI = 2

// landlockABI returns the version of the kernel's interface, 0 if Landlock is missing
// or disabled.
func landlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// restrictLandlock has Landlock enforce the policy on all threads.
func restrictLandlock(policy *Policy, abi int) error {
	rules, err := fileRules(policy, abi)
	if err != nil {
		return err
	}
	config := landlock.V11
	if policy.Exec {
		config.HandledAccessFS &^= ll.AccessFSExecute
	}
	if policy.Connect {
		config.HandledAccessNet &^= ll.AccessNetConnectTCP | ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	for _, port := range policy.Listen {
		rules = append(rules, landlock.BindTCP(port))
	}
	return config.BestEffort().Restrict(rules...)
}

// fileRules returns the rules for the files of a policy.
func fileRules(policy *Policy, abi int) ([]landlock.Rule, error) {
	b := &ruleBuilder{}
	if abi >= referABI {
		b.refer = refer
	}
	for _, path := range append(systemPaths(policy), policy.Read...) {
		b.add(path, readFile, readFile|readDir, optional)
	}
	for _, path := range ownEntries() {
		b.keep(path)
		b.add(path, readFile, readFile, optional)
	}
	for _, path := range ownFolders() {
		b.keep(path)
		b.add(path, 0, readDir, optional)
	}
	for _, path := range devices() {
		b.add(path, device, 0, optional)
	}
	for _, path := range policy.Write {
		b.add(path, writeFile, writeDir|b.refer, needed)
	}
	for _, path := range policy.Rename {
		b.add(path, 0, rename, needed)
	}
	if policy.Temp != nil {
		b.add(policy.Temp.dir, 0, writeDir|b.refer, needed)
		// Removing the folder itself is a right of its parent folder.
		b.add(policy.Temp.parent, 0, ll.AccessFSRemoveDir, needed)
	}
	return b.rules, b.err
}

// Whether a path must exist.
const (
	optional = false
	needed   = true
)

// ruleBuilder collects rules.
type ruleBuilder struct {
	rules []landlock.Rule
	refer landlock.AccessFSSet
	err   error // the first one
}

// add adds a rule for a path with the rights for what it is, a file or a folder.
func (b *ruleBuilder) add(path string, file, dir landlock.AccessFSSet, must bool) {
	if path == "" {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		if must && b.err == nil {
			b.err = fmt.Errorf("a path of the policy must exist: %w", err)
		}
		return
	}
	access := file
	if info.IsDir() {
		access = dir
	}
	if access == 0 {
		if must && b.err == nil {
			b.err = &fs.PathError{Op: "restrict to", Path: path, Err: unix.ENOTDIR}
		}
		return
	}
	b.rules = append(b.rules, landlock.PathAccess(access, path).IgnoreIfMissing())
}

// keep keeps an entry of /proc open until the process ends. A rule belongs to an inode.
// When the kernel has dropped an inode of /proc from its cache, it makes a new one, to
// which the rule does not apply. An open descriptor keeps the inode in the cache.
func (b *ruleBuilder) keep(path string) {
	unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}
