package containerinit

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// execProgram executes the container's program in the current root.
func (s *Spec) execProgram(cgroupFDs []int) error {
	id, env, err := s.prepareProgram()
	if err != nil {
		return err
	}
	if err := s.setOOMScore(); err != nil {
		return err
	}
	if s.Terminal {
		if _, err := syscall6(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0); err != nil {
			return wrapError("setting the controlling terminal", err)
		}
	}
	if err := joinCgroups(cgroupFDs); err != nil {
		return err
	}
	if err := id.report(); err != nil {
		return err
	}
	if err := s.dropPrivileges(id.uid, id.gid, id.groups); err != nil {
		return err
	}
	if err := setParentDeathSignal(); err != nil { // changing the user has cleared it
		return err
	}
	if err := resetSignals(); err != nil {
		return err
	}
	paths := programPaths(s.Args[0], env)
	var errnos []syscall.Errno
	for _, path := range paths {
		errno, _ := syscall.Exec(path, s.Args, env).(syscall.Errno)
		if errnos = append(errnos, errno); errno == syscall.ENOEXEC {
			break
		}
	}
	return describeExecErrors(s.Args[0], paths, errnos)
}

// prepareProgram looks up the user and sets the working directory, the resource limits, the owner of
// the standard streams and the umask. It returns the user and the environment of the program.
func (s *Spec) prepareProgram() (identity, []string, error) {
	if len(s.Args) == 0 || s.Args[0] == "" {
		return identity{}, nil, &startError{"no command specified", 127}
	}
	id, err := s.User.resolve()
	if err != nil {
		return id, nil, err
	}
	if err := s.enterCwd(); err != nil {
		return id, nil, err
	}
	for _, l := range s.Limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return id, nil, wrapError("setting resource limit "+strconv.Itoa(l.Resource), err)
		}
	}
	for fd := range 3 { // the user must be able to open /dev/stdout
		var info syscall.Stat_t
		if syscall.Fstat(fd, &info) == nil && (info.Mode&syscall.S_IFMT == syscall.S_IFIFO || s.Terminal) {
			_ = syscall.Fchown(fd, int(id.uid), -1)
		}
	}
	syscall.Umask(0o022)
	return id, s.environ(id.home), nil
}

// enterCwd changes to the working directory. It refuses a directory outside of the root: links in
// /proc may lead to one.
func (s *Spec) enterCwd() error {
	if s.Cwd == "" {
		return nil
	}
	if err := syscall.Chdir(s.Cwd); err != nil {
		return wrapError("working directory "+s.Cwd, err)
	}
	var path [syscall.PathMax]byte
	n, err := syscall.Getcwd(path[:]) // the path of a directory outside begins with (unreachable)
	if err != nil || n < 1 || path[0] != '/' {
		return &startError{"working directory " + s.Cwd + ": outside of the container's root", 128}
	}
	return nil
}

func (s *Spec) setOOMScore() error {
	if s.OOMScoreAdj == nil {
		return nil
	}
	score := strconv.FormatInt(*s.OOMScoreAdj, 10)
	return wrapError("setting oom_score_adj to "+score, os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0o644))
}

// environ returns the environment of the program. It adds HOME=home unless s.Env sets HOME.
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
	const maxCapability = 63
	for c := range uintptr(maxCapability + 1) {
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
	if err := prctl(prSetDumpable, 0); err != nil { // a change of the user has reset it to fs.suid_dumpable
		return wrapError("clearing the dumpable flag", err)
	}
	if err := s.setCapabilities(uid == 0); err != nil {
		return err
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return wrapError("setting no_new_privs", err)
	}
	if len(s.Filter) == 0 {
		return nil
	}
	program := struct {
		length uint16
		filter *byte
	}{uint16(len(s.Filter) / 8), &s.Filter[0]}
	return wrapError("loading the seccomp filter", prctl(prSetSeccomp, seccompFilter, pin(&program)))
}

// setCapabilities gives root the capabilities of the spec, and other users none.
func (s *Spec) setCapabilities(root bool) error {
	_ = prctl(prCapAmbient, ambientClear) // fails before Linux 4.3
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var current, desired [2]struct{ effective, permitted, inheritable uint32 }
	if _, err := syscall6(syscall.SYS_CAPGET, pin(&header), pin(&current)); err != nil {
		return wrapError("reading capabilities", err)
	}
	for i := range desired {
		if root {
			desired[i].permitted = current[i].permitted & uint32(s.Capabilities>>(32*i))
			desired[i].effective = desired[i].permitted
		}
	}
	_, err := syscall6(syscall.SYS_CAPSET, pin(&header), pin(&desired))
	return wrapError("setting capabilities", err)
}

// resetSignals restores the default actions of SIGHUP and SIGINT. An agent started with nohup
// ignores them, and its children inherit that: a terminal hangup would not end them.
func resetSignals() error {
	var defaultAction struct{ handler, flags, restorer, mask uint64 }
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if _, err := syscall6(syscall.SYS_RT_SIGACTION, uintptr(s), pin(&defaultAction), 0, 8); err != nil {
			return wrapError("setting signal "+s.String(), err)
		}
	}
	return nil
}

// programPaths returns the paths to try for a program, from PATH in env.
func programPaths(program string, env []string) (paths []string) {
	if strings.Contains(program, "/") {
		return []string{program}
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			path = p
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		if dir != "" {
			paths = append(paths, dir+"/"+program)
		}
	}
	return paths
}

// describeExecErrors returns the error of a program whose execution has failed at these paths.
func describeExecErrors(program string, paths []string, errnos []syscall.Errno) error {
	if strings.Contains(program, "/") && len(errnos) == 1 {
		return execError(program, errnos[0])
	}
	lastErrno := syscall.ENOENT
	for i, errno := range errnos {
		if errno != syscall.ENOENT && errno != syscall.ENOTDIR {
			lastErrno = errno
		} else if interpreter(paths[i]) != "" { // report the missing interpreter instead of a missing command
			return execError(paths[i], errno)
		}
	}
	if lastErrno == syscall.ENOENT {
		return &startError{`exec: "` + program + `": executable file not found in $PATH`, 127}
	}
	return execError(program, lastErrno)
}

// execError describes why a program cannot be executed.
func execError(name string, err error) error {
	switch err {
	case syscall.ENOENT, syscall.ENOTDIR:
		var info syscall.Stat_t
		if syscall.Stat(name, &info) == nil { // the program exists, but its interpreter does not
			if interp := interpreter(name); interp != "" {
				return &startError{`exec: "` + name + `": interpreter ` + interp + " not found in the image", 127}
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
