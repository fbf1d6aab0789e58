package containerinit

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"syscall"
)

// startError is an error with an exit code: 127 if the command does not exist, 126 if it cannot
// be executed, otherwise 128.
type startError struct {
	message string
	code    int
}

// Error implements error.
func (e *startError) Error() string { return e.message }

// wrapError adds the failed step to an error. It returns a startError unchanged.
func wrapError(step string, err error) error {
	if err == nil {
		return nil
	}
	if startErr, ok := err.(*startError); ok {
		return startErr
	}
	return &startError{step + ": " + err.Error(), 128}
}

func init() {
	if len(os.Args) == 0 {
		return
	}
	var run func(*Spec) error
	switch os.Args[0] {
	case Init:
		run = runInit
	case Exec:
		run = runExec
	case Sandbox:
		run = runSandbox
	default:
		return
	}
	for _, fd := range []int{SpecFD, ReportFD, ProcessFD} {
		syscall.CloseOnExec(fd)
	}
	err := dispatch(run)
	code := 128
	if startErr, ok := err.(*startError); ok {
		code = startErr.code
	}
	_, _ = syscall.Write(ReportFD, []byte(strconv.Itoa(code)+" "+err.Error()))
	os.Exit(code)
}

// dispatch calls run with the spec. Both return only with an error.
func dispatch(run func(*Spec) error) error {
	// Processes in the container must not access this process through /proc.
	if err := prctl(prSetDumpable, 0); err != nil {
		return wrapError("clearing the dumpable flag", err)
	}
	text, err := io.ReadAll(os.NewFile(SpecFD, "spec"))
	if err != nil {
		return wrapError("reading the spec", err)
	}
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return wrapError("reading the spec", err)
	}
	return run(&s)
}

// runInit is the init process of a new container. It starts in its own mount namespace and
// usually in its own PID namespace.
func runInit(s *Spec) error {
	if err := setParentDeathSignal(); err != nil {
		return err
	}
	if err := setns(ProcessFD, syscall.CLONE_NEWNET|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUTS); err != nil {
		return wrapError("joining the sandbox's namespaces", err)
	}
	cgroupFDs, err := openCgroups(s.CgroupProcs)
	if err != nil {
		return err
	}
	if err := s.setupRoot(); err != nil {
		return err
	}
	return s.execProgram(cgroupFDs)
}

// setParentDeathSignal makes the kernel kill this process when its shim exits.
func setParentDeathSignal() error {
	if err := prctl(prSetPdeathsig, uintptr(syscall.SIGKILL)); err != nil {
		return wrapError("setting the parent death signal", err)
	}
	// The signal is not sent if the shim has already exited. Then the report pipe has no reader.
	report := struct {
		fd              int32
		events, revents int16
	}{fd: ReportFD}
	if n, err := syscall6(syscall.SYS_PPOLL, pin(&report), 1, pin(&syscall.Timespec{}), 0, 0); err != nil || n > 0 {
		return &startError{"shim was killed", 128}
	}
	return nil
}

// runSandbox becomes the process that holds the namespaces of a pod. It was started in them.
func runSandbox(s *Spec) error {
	if s.Hostname != "" {
		if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
			return wrapError("setting the host name to "+s.Hostname, err)
		}
	}
	for name, value := range s.Sysctls {
		file := "/proc/sys/"
		for _, c := range name {
			if c == '.' {
				c = '/'
			}
			file += string(c)
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return wrapError("setting sysctl "+name+" to "+value, err)
		}
	}
	cgroupFDs, err := openCgroups(s.CgroupProcs)
	if err != nil {
		return err
	}
	if err := joinCgroups(cgroupFDs); err != nil {
		return err
	}
	if err := s.setOOMScore(); err != nil {
		return err
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return wrapError("opening /dev/null", err)
	}
	if err := pivotToEmptyRoot(); err != nil {
		return err
	}
	if err := s.dropPrivileges(0, 0, nil); err != nil {
		return err
	}
	// Wait until the agent has recorded this process. A process without a record must not remain.
	var input [1]byte
	n, err := syscall.Read(0, input[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(0, input[:])
	}
	if n != 1 {
		return &startError{"the agent exited", 128}
	}
	if err := syscall.Dup3(null, 0, 0); err != nil {
		return wrapError("redirecting standard input to /dev/null", err)
	}
	args, err := syscall.SlicePtrFromStrings(s.Args)
	if err != nil {
		return err
	}
	env := []*byte{nil}
	_, err = syscall6(callExecveat, ProcessFD, bytePtr(""), pin(&args[0]), pin(&env[0]), atEmptyPath)
	return wrapError("starting the sandbox", err)
}

// pivotToEmptyRoot makes an empty file system the root of the process. In a shared PID namespace
// the pod's containers can access this root through /proc.
func pivotToEmptyRoot() error {
	if err := syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, ""); err != nil {
		return wrapError("making mounts private", err)
	}
	const dir = "/proc" // an existing directory
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_RDONLY|syscall.MS_NODEV|syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=0,nr_inodes=2,mode=555"); err != nil {
		return wrapError("mounting an empty root", err)
	}
	return pivotRoot(dir)
}

func setns(fd int, flags uintptr) error {
	_, err := syscall6(callSetns, uintptr(fd), flags)
	return err
}

func openCgroups(files []string) ([]int, error) {
	var fds []int
	for _, f := range files {
		fd, err := syscall.Open(f, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return nil, wrapError("joining cgroup "+f, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// joinCgroups joins the cgroups. Callers join as late as possible, so that this code is not charged
// to the container.
func joinCgroups(fds []int) error {
	for _, fd := range fds {
		if _, err := syscall.Write(fd, []byte("0")); err != nil {
			return wrapError("joining a cgroup", err)
		}
		_ = syscall.Close(fd)
	}
	return nil
}
