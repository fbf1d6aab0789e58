package containerinit

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// execProgram executes the container's program in the current root.
func (s *Spec) execProgram(joins []int) error {
	if len(s.Args) == 0 || s.Args[0] == "" {
		return &startError{"no command specified", 127}
	}
	id, err := s.User.resolve()
	if err != nil {
		return err
	}
	env := s.environ(id.home)
	if s.Cwd != "" {
		if err := syscall.Chdir(s.Cwd); err != nil {
			return wrapError("working directory "+s.Cwd, err)
		}
	}
	if err := s.setOOMScore(); err != nil {
		return err
	}
	for _, l := range s.Limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return wrapError("resource limit "+strconv.Itoa(l.Resource), err)
		}
	}
	if s.Terminal {
		if _, err := syscall6(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0); err != nil {
			return wrapError("setting the controlling terminal", err)
		}
	}
	for fd := range 3 { // the user must be able to open /dev/stdout
		var info syscall.Stat_t
		if syscall.Fstat(fd, &info) == nil && (info.Mode&syscall.S_IFMT == syscall.S_IFIFO || s.Terminal) {
			_ = syscall.Fchown(fd, int(id.uid), -1)
		}
	}
	if err := joinCgroups(joins); err != nil {
		return err
	}
	syscall.Umask(0o022)
	if err := s.dropPrivileges(id.uid, id.gid, id.groups); err != nil {
		return err
	}
	if s.Root != nil { // changing the user has cleared it
		if err := setParentDeathSignal(); err != nil {
			return err
		}
	}
	return execArgs(s.Args, env)
}

func (s *Spec) setOOMScore() error {
	if s.OOMScoreAdj == nil {
		return nil
	}
	return wrapError("oom_score_adj", os.WriteFile("/proc/self/oom_score_adj", strconv.AppendInt(nil, *s.OOMScoreAdj, 10), 0o644))
}

func (s *Spec) environ(home string) []string {
	for _, e := range s.Env {
		if strings.HasPrefix(e, "HOME=") {
			return s.Env
		}
	}
	return append(s.Env, "HOME="+home)
}

// dropPrivileges changes the user, drops capabilities and installs the seccomp filter. All of
// these are properties of the calling thread, which executes the program.
func (s *Spec) dropPrivileges(uid, gid uint32, groups []uint32) error {
	const last = 63
	for c := range uintptr(last + 1) {
		if s.Capabilities&(1<<c) == 0 {
			if err := prctl(prCapbsetDrop, c); err == syscall.EINVAL {
				break // the kernel has fewer capabilities
			} else if err != nil {
				return wrapError("dropping capability "+strconv.Itoa(int(c)), err)
			}
		}
	}
	list := uintptr(0)
	if len(groups) > 0 {
		list = pin(&groups[0])
	}
	if _, err := syscall6(syscall.SYS_SETGROUPS, uintptr(len(groups)), list); err != nil {
		return wrapError("setting groups", err)
	}
	if _, err := syscall6(syscall.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); err != nil {
		return wrapError("setting group "+strconv.Itoa(int(gid)), err)
	}
	if _, err := syscall6(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); err != nil {
		return wrapError("setting user "+strconv.Itoa(int(uid)), err)
	}
	if err := s.setCapabilities(uid == 0); err != nil {
		return err
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return wrapError("no_new_privs", err)
	}
	if len(s.Filter) == 0 {
		return nil
	}
	program := struct {
		length uint16
		filter *byte
	}{uint16(len(s.Filter) / 8), &s.Filter[0]}
	return wrapError("seccomp", prctl(prSetSeccomp, seccompFilter, pin(&program)))
}

// setCapabilities gives root the capabilities of the spec, and other users none.
func (s *Spec) setCapabilities(root bool) error {
	_ = prctl(prCapAmbient, ambientClear) // fails before Linux 4.3
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var now, set [2]struct{ effective, permitted, inheritable uint32 }
	if _, err := syscall6(syscall.SYS_CAPGET, pin(&header), pin(&now)); err != nil {
		return wrapError("reading capabilities", err)
	}
	for i := range set {
		if root {
			set[i].permitted = now[i].permitted & uint32(s.Capabilities>>(32*i))
			set[i].effective = set[i].permitted
		}
	}
	_, err := syscall6(syscall.SYS_CAPSET, pin(&header), pin(&set))
	return wrapError("setting capabilities", err)
}

// resetSignals restores the default actions of SIGHUP and SIGINT. An agent started with nohup
// ignores them and passes that on, so a terminal hangup would end nothing.
func resetSignals() error {
	var byDefault struct{ handler, flags, restorer, mask uint64 }
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if _, err := syscall6(syscall.SYS_RT_SIGACTION, uintptr(s), pin(&byDefault), 0, 8); err != nil {
			return wrapError("setting signal "+s.String(), err)
		}
	}
	return nil
}

// execArgs executes args, searching PATH.
func execArgs(args, env []string) error {
	if err := resetSignals(); err != nil {
		return err
	}
	if strings.Contains(args[0], "/") {
		return execError(args[0], syscall.Exec(args[0], args, env))
	}
	lastErr := error(syscall.ENOENT)
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			path = p
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			continue
		}
		err := syscall.Exec(dir+"/"+args[0], args, env)
		if err != syscall.ENOENT && err != syscall.ENOTDIR {
			lastErr = err
		} else if interpreter(dir+"/"+args[0]) != "" { // report the missing interpreter instead of a missing command
			return execError(dir+"/"+args[0], err)
		}
		if err == syscall.ENOEXEC {
			break
		}
	}
	if lastErr == syscall.ENOENT {
		return &startError{`exec: "` + args[0] + `": executable file not found in $PATH`, 127}
	}
	return execError(args[0], lastErr)
}

// execError describes why a program cannot be executed.
func execError(name string, err error) error {
	switch err {
	case syscall.ENOENT, syscall.ENOTDIR:
		var info syscall.Stat_t
		if syscall.Stat(name, &info) == nil { // the program exists, but its interpreter does not
			if needs := interpreter(name); needs != "" {
				return &startError{`exec: "` + name + `": interpreter ` + needs + " not found in the image", 127}
			}
		}
		return &startError{`exec: "` + name + `": stat ` + name + ": no such file or directory", 127}
	case syscall.ENOEXEC:
		return &startError{"exec " + name + ": exec format error", 126}
	case syscall.EACCES:
		return &startError{`exec: "` + name + `": permission denied`, 126}
	}
	return &startError{"exec " + name + ": " + err.Error(), 126}
}
